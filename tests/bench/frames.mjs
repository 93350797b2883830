// What a page does of each frame of the screen, from Chromium's own trace, and how figures are written.

/** What scripts do, as traces call it. */
export const SCRIPT = new Set([
  'EvaluateScript', 'EventDispatch', 'FireAnimationFrame', 'FireIdleCallback', 'FunctionCall', 'MajorGC', 'MinorGC', 'RunMicrotasks',
  'TimerFire', 'V8.GCScavenger', 'XHRReadyStateChange', 'v8.compile',
]);
/** All that the page's thread does: scripts, styles, layout and painting. */
export const TASKS = new Set(['RunTask', 'ThreadControllerImpl::RunTask']);

export const at = (values, share) => [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))];
export const short = (value) => (value >= 100 ? value.toFixed(0) : value.toPrecision(3));

/** The events of a trace while `act` runs. */
export async function traced(page, act) {
  const client = await page.context().newCDPSession(page);
  const events = [];
  client.on('Tracing.dataCollected', ({ value }) => events.push(...value));
  const complete = new Promise((resolve) => { client.once('Tracing.tracingComplete', resolve); });
  const traceConfig = { includedCategories: ['devtools.timeline', 'disabled-by-default-devtools.timeline', 'toplevel', 'v8'] };
  await client.send('Tracing.start', { transferMode: 'ReportEvents', traceConfig });
  await act();
  await client.send('Tracing.end');
  await complete;
  await client.detach();
  return events;
}

/** Time of scripts, or of what else traces name, of each frame in which there was some, in milliseconds that the thread was on a CPU. */
export function scriptOfFrames(events, names = SCRIPT) {
  const script = events.filter(({ ph, name }) => ph === 'X' && names.has(name));
  const perThread = new Map();
  for (const { pid, tid, name } of events) if (name === 'FireAnimationFrame') perThread.set(`${pid} ${tid}`, (perThread.get(`${pid} ${tid}`) ?? 0) + 1);
  const [main] = [...perThread].sort((a, b) => b[1] - a[1])[0] ?? [];
  const ours = ({ pid, tid }) => `${pid} ${tid}` === main;
  // What a frame shows is given to the compositor at its end.
  const ends = events.filter((event) => ours(event) && event.name === 'Commit').map(({ ts }) => ts).sort((a, b) => a - b);
  const spans = script.filter(ours).sort((a, b) => a.ts - b.ts);
  const frames = new Map();
  let [last, frame] = [-Infinity, 0];
  for (const { ts, dur = 0, tdur = dur } of spans) {
    // What is within another one is in its time.
    if (ts < last) continue;
    while (frame < ends.length && ends[frame] <= ts) frame += 1;
    frames.set(frame, (frames.get(frame) ?? 0) + tdur / 1000);
    last = ts + dur;
  }
  return { frames: [...frames.values()], count: ends.length };
}
