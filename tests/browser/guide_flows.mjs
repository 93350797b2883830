// The guided start in the browser.

import { strict as assert } from 'node:assert';

import { until } from '../lib/server.mjs';

/** Commands that the tree of questions offers, from its module as the page has it. */
async function commandsOfTree() {
  const { GUIDE } = await import('../../web/static/js/page/guide_tree.js');
  const all = (choice) => choice.choices?.flatMap(all) ?? choice.ways;
  return all(GUIDE).flatMap(({ command }) => command ?? []);
}

/** Every command of the tree is one that a form can be filled with. */
export async function readGuideCommands(page) {
  const commands = await commandsOfTree();
  assert.ok(commands.length > 5, commands.join('\n'));
  for (const text of commands) {
    const answer = await page.evaluate(async (text) => {
      const response = await fetch('/api/commands/explain', {
        method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ text }),
      });
      return { status: response.status, body: await response.json() };
    }, text);
    assert.equal(answer.status, 200, text);
    assert.ok(answer.body.capture, `${text}: ${answer.body.words}`);
  }
}

/** Answers questions until a tool is offered, goes back and forward, and opens the tool's form. Nothing is typed but keys. */
export async function followGuide(page, origin) {
  await page.goto(origin);
  const title = page.locator('#guide-title');
  await until('the first question', async () => (await title.textContent()) === 'What do you want to know?');
  await page.getByRole('button', { name: /^Who does it/ }).focus();
  await page.keyboard.press('Enter');
  assert.equal(await title.textContent(), 'Does what?');
  assert.ok(await title.evaluate((element) => element === document.activeElement), 'the next question has the focus');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  const first = page.locator('.guide-ways a').first();
  await until('what is offered', async () => /^opensnoop/.test((await first.textContent({ timeout: 1000 }).catch(() => '')) ?? ''));
  assert.match(page.url(), /ask=who\.open$/);
  // The link shows the same, Back and the trail lead to the question before.
  await page.reload();
  await first.waitFor();
  await page.goBack();
  await until('the question before', async () => (await title.textContent()) === 'Does what?');
  await page.goForward();
  await first.waitFor();
  await page.getByRole('button', { name: /Change the answer to “Does what\?”/ }).click();
  await page.getByRole('button', { name: 'Opens files' }).click();
  await first.click();
  await page.waitForURL(/\/new\?.*tool=opensnoop/);
}
