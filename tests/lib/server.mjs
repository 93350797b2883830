// A running Bathyscope for the scripts in this folder: started, logged in to, asked, and ended.

import { spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const IS_ROOT = process.getuid() === 0;
const NOBODY = 65534;

/** The binary to drive: BATHYSCOPE_BIN, or the debug build. */
export function binary(profile = 'debug') {
  const path = process.env.BATHYSCOPE_BIN ?? join(ROOT, 'target', profile, 'bathyscope');
  if (!existsSync(path)) throw new Error(`${path} does not exist; build it first`);
  return path;
}

/** Looks again and again until `look` gives something; `what` is for the message if it never does. */
export async function until(what, look, seconds = 60) {
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > deadline) throw new Error(`waited ${seconds} s for ${what}`);
    await new Promise((resolve) => { setTimeout(resolve, 20); });
  }
}

/** A folder for captures; `unprivileged` gives it to nobody. */
export function dataFolder(unprivileged = false) {
  const folder = mkdtempSync(join(tmpdir(), 'bathyscope-test-'));
  if (unprivileged && IS_ROOT) chownSync(folder, NOBODY, NOBODY);
  return folder;
}

export function removeFolder(folder) {
  rmSync(folder, { recursive: true, force: true });
}

export class Server {
  /**
   * Starts `bathyscope serve`. `simulate`: with made-up events. `unprivileged`: as nobody, if this process is root.
   * `listen`: where; a free port by default.
   */
  static async start({ data, simulate = false, unprivileged = false, listen = '127.0.0.1:0', profile, options = [] }) {
    if (!data) throw new Error('a server needs a data directory');
    const words = [binary(profile), 'serve', '--listen', listen, '--data', data, ...options];
    if (simulate) words.push('--simulate');
    if (unprivileged && IS_ROOT) {
      words.unshift('setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', '--inh-caps=-all');
    }
    const env = { ...process.env, HOME: data };
    const child = spawn(words[0], words.slice(1), { stdio: ['ignore', 'pipe', 'pipe'], env });
    const server = new Server();
    Object.assign(server, { child, data, said: '' });
    child.stderr.on('data', (bytes) => { server.said += bytes; });
    server.ended = new Promise((resolve) => { child.on('exit', (code, signal) => resolve(code ?? signal)); });
    const line = await Promise.race([
      new Promise((resolve) => { createInterface(child.stdout).once('line', resolve); }),
      server.ended.then((how) => { throw new Error(`the server ended (${how}):\n${server.said}`); }),
    ]);
    const match = /(https?:\/\/([\w.]+):(\d+))\/login#token=(\S+)/.exec(line);
    if (!match) throw new Error(`not a ready line: ${line}`);
    [server.link, server.origin, server.host, server.port, server.token] = match;
    return server;
  }

  /** Ends it as a service manager does. */
  async stop() {
    this.child.kill('SIGTERM');
    return this.ended;
  }

  /** The pid of the child process with the verb `agent` or `console`. */
  childPid(verb) {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      try {
        const parent = /^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
        if (Number(parent) === this.child.pid && words[1] === verb) return Number(pid);
      } catch { /* it has ended meanwhile */ }
    }
    return null;
  }

  send(method, path, body, type = 'application/json') {
    const headers = { Origin: this.origin, 'Sec-Fetch-Site': 'same-origin', Connection: 'close' };
    if (this.cookie) headers.Cookie = this.cookie;
    const payload = body === undefined ? null : type === 'application/json' ? JSON.stringify(body) : body;
    if (payload !== null) headers['Content-Type'] = type;
    const options = { host: this.host, port: this.port, method, path, headers, agent: false };
    return new Promise((resolve, reject) => {
      const sent = request(options, resolve);
      sent.on('error', reject);
      sent.end(payload);
    });
  }

  async logIn() {
    const answer = await this.send('POST', '/login', `token=${this.token}`, 'application/x-www-form-urlencoded');
    answer.resume();
    const cookie = answer.headers['set-cookie']?.[0];
    if (!cookie) throw new Error(`login: ${answer.statusCode}`);
    this.cookie = cookie.split(';')[0];
    // It serves stored captures as soon as it is ready; the agent may take a moment longer.
    await until('the agent', async () => (await this.api('GET', '/api/host')).agent.state === 'connected');
  }

  /** The JSON of the answer; anything but success is an error. */
  async api(method, path, body) {
    const answer = await this.send(method, path, body);
    let text = '';
    for await (const part of answer.setEncoding('utf8')) text += part;
    if (answer.statusCode >= 300) throw new Error(`${method} ${path}: ${answer.statusCode} ${text}`);
    return text === '' ? null : JSON.parse(text);
  }

  /** Server-sent events as [name, data], until the stream ends or the caller stops. */
  async * events(path) {
    const answer = await this.send('GET', path);
    let pending = '';
    for await (const part of answer.setEncoding('utf8')) {
      pending += part;
      const events = pending.split('\n\n');
      pending = events.pop();
      for (const event of events) {
        const field = (name) => event.split('\n').filter((line) => line.startsWith(`${name}:`))
          .map((line) => line.slice(name.length + 1).trimStart()).join('\n');
        if (field('data')) yield [field('event'), JSON.parse(field('data'))];
      }
    }
  }
}
