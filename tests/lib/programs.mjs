// What the kernel counted of the BPF programs that processes hold, while its counting is on (`kernel.bpf_stats_enabled`).

import { readFileSync, readdirSync } from 'node:fs';

/** Run time and runs of each program, by its id. */
export function programRuns(pids) {
  const found = new Map();
  for (const pid of pids) {
    for (const descriptor of readdirSync(`/proc/${pid}/fdinfo`)) {
      let text = '';
      try {
        text = readFileSync(`/proc/${pid}/fdinfo/${descriptor}`, 'utf8');
      } catch { continue; }
      const number = (name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1]);
      if (/^run_cnt:/m.test(text)) found.set(number('prog_id'), { ns: number('run_time_ns'), runs: number('run_cnt') });
    }
  }
  return found;
}
