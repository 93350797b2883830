// Two people at once, an operator and a viewer: notes that are answered, resolved and tied to frames, rows and the capture, and an
// investigation that is written, reordered and read, each change seen by the other at once.

import assert from 'node:assert/strict';
import { until } from '../lib/server.mjs';
import { openTab } from './flows.mjs';

const HOSTILE = '**late** <img src=x onerror="window.hacked=4"> [x](javascript:window.hacked=4) <script>window.hacked=4</script>';

/** Both see the tab Info of the capture. */
async function openInfo(pages, origin, id) {
  for (const page of pages) {
    await page.goto(`${origin}/captures/${id}?v=3&tab=info`);
    await page.getByRole('region', { name: 'Notes' }).getByText('No note on the capture as a whole.').waitFor();
  }
}

/** A note on the capture: written by one, seen by the other at once, answered, changed with its history, resolved, opened again. */
export async function noteTogether(operator, viewer, origin, id) {
  await openInfo([operator, viewer], origin, id);
  const [own, seen] = [operator, viewer].map((page) => page.getByRole('region', { name: 'Notes' }));
  assert.equal(await seen.getByRole('button', { name: 'Write a note' }).count(), 0, 'a viewer reads');
  await own.getByRole('button', { name: 'Write a note' }).click();
  await own.getByRole('textbox', { name: 'Text of the new note' }).fill(HOSTILE);
  await operator.keyboard.press('Control+Enter');
  await seen.locator('.markdown strong').filter({ hasText: 'late' }).waitFor();
  for (const place of [own, seen]) {
    assert.match(await place.locator('.markdown').first().textContent(), /<img src=x onerror/, 'what was written is read');
    assert.equal(await place.locator('.markdown :is(img, script, a)').count(), 0);
  }
  await own.getByRole('button', { name: 'Answer' }).click();
  await own.getByRole('textbox', { name: 'Text of the answer' }).fill('since `14:00`');
  await own.getByRole('button', { name: 'Save', exact: true }).click();
  await seen.locator('.note-answer code').filter({ hasText: '14:00' }).waitFor();
  await own.locator('.note-thread > .note-actions').getByRole('button', { name: 'Change' }).click();
  await own.getByRole('textbox', { name: 'Text of the note' }).fill('it was the disk');
  await own.getByRole('button', { name: 'Save', exact: true }).click();
  await seen.getByText('it was the disk').waitFor();
  await seen.locator('.note-thread > .note-actions').getByRole('button', { name: 'History' }).click();
  await until('both versions', async () =>
    await seen.getByRole('list', { name: 'History of the note' }).locator('> li').count() === 2);
  await own.getByRole('button', { name: 'Resolve' }).click();
  await seen.getByText('Resolved by admin').waitFor();
  await own.getByRole('button', { name: 'Open again' }).click();
  await until('open again', async () => await seen.getByText('Resolved by admin').count() === 0);
  assert.equal(await viewer.evaluate(() => window.hacked), undefined);
}

/** A note on a frame: by a key, with a mark on the frame, below the path, and a link that leads there. */
export async function noteFrame(operator, viewer) {
  await openTab(operator, 'Flame graph');
  const graph = operator.locator('#panel-flame svg.flame');
  await until('frames', async () => await graph.locator('g').count() > 2);
  await graph.focus();
  for (const key of ['Home', 'ArrowUp', 'ArrowUp', 'n']) await operator.keyboard.press(key);
  const place = operator.getByRole('region', { name: 'Notes on it' });
  await place.getByRole('textbox', { name: 'Text of the new note' }).fill('too wide');
  await place.getByRole('button', { name: 'Save', exact: true }).click();
  await place.getByText('too wide').waitFor();
  await until('its mark', async () => await graph.locator('.flame-noted').count() === 1);
  const href = await place.getByRole('link').first().getAttribute('href');
  await viewer.goto(new URL(href, operator.url()).href);
  await viewer.getByRole('region', { name: 'Notes on it' }).getByText('too wide').waitFor();
}

/** A note on a row: in its details, and found again from the list of notes, whatever the order of the table. */
export async function noteRow(operator) {
  await openTab(operator, 'Events');
  const rows = operator.locator('#panel-events [role=grid]').first();
  await rows.focus();
  await operator.keyboard.press('ArrowDown');
  await operator.keyboard.press('ArrowDown');
  await operator.keyboard.press('Enter');
  const details = operator.getByRole('complementary', { name: 'Row' });
  await details.getByRole('button', { name: 'Write a note' }).click();
  await details.getByRole('textbox', { name: 'Text of the new note' }).fill('this row');
  await operator.keyboard.press('Control+Enter');
  await details.getByText('this row').waitFor();
  await operator.keyboard.press('Escape');
  await openTab(operator, 'Info');
  await operator.getByRole('link', { name: /^All \d+ notes on this capture/ }).click();
  const list = operator.getByRole('region', { name: 'Notes', exact: true });
  await list.getByRole('link', { name: /^Row \d+ of / }).click();
  await details.getByText('this row').waitFor();
}

/** Adds the view that is shown by the key, and gives the address of the investigation. */
async function addView(operator, title) {
  await openTab(operator, 'Flame graph');
  await until('frames', async () => await operator.locator('#panel-flame svg.flame g').count() > 2);
  await operator.locator('#panel-flame svg.flame').focus();
  await operator.keyboard.press('Shift+I');
  const dialog = operator.getByRole('dialog', { name: 'Add to an investigation' });
  await dialog.getByLabel('Title of the new investigation').fill(title);
  await dialog.getByLabel('Caption').fill('what it does');
  await dialog.getByRole('button', { name: 'Add' }).click();
  await operator.getByRole('button', { name: 'Open', exact: true }).click();
  await operator.waitForURL(/\/investigations\/[0-9a-f]{16}$/);
  return operator.url();
}

/** An investigation: a view by a key, a text and a task, reordered by keys, a conclusion; the other sees each at once. */
export async function investigateTogether(operator, viewer) {
  const address = await addView(operator, 'Why <b>is</b> it slow?');
  await viewer.goto(address);
  const blocks = (page) => page.getByRole('list', { name: 'Blocks' }).locator('> li');
  await viewer.getByRole('heading', { name: 'Why <b>is</b> it slow?' }).waitFor();
  await until('the picture', async () => await blocks(viewer).locator('img').evaluate((image) => image.naturalWidth > 100));
  assert.equal(await viewer.getByRole('button', { name: 'Add a text' }).count(), 0, 'a viewer reads');
  await operator.getByRole('button', { name: 'Add a text' }).click();
  await operator.getByRole('textbox', { name: 'Text' }).fill(HOSTILE);
  await operator.keyboard.press('Control+Enter');
  await until('two blocks', async () => await blocks(viewer).count() === 2);
  await operator.getByRole('button', { name: 'Add a task' }).click();
  await operator.getByRole('textbox', { name: 'Task' }).fill('compare with yesterday');
  await operator.getByRole('button', { name: 'Save', exact: true }).click();
  await until('three blocks', async () => await blocks(viewer).count() === 3);
  const box = blocks(operator).nth(2).getByRole('checkbox');
  await box.check();
  await until('done', async () => await blocks(viewer).nth(2).getByRole('checkbox').isChecked());
  await blocks(operator).nth(2).locator('.block-grip').focus();
  await operator.keyboard.press('Alt+ArrowUp');
  await until('the task second', async () => await blocks(viewer).nth(1).getByRole('checkbox').count() === 1);
  await until('the focus stays', async () =>
    await blocks(operator).nth(1).locator('.block-grip').evaluate((grip) => grip === document.activeElement));
  await blocks(operator).nth(2).getByRole('button', { name: 'Delete' }).click();
  await until('two again', async () => await blocks(viewer).count() === 2);
  await operator.getByRole('button', { name: 'Undo' }).click();
  await until('three again', async () => await blocks(viewer).count() === 3);
  await operator.getByRole('button', { name: 'Write the conclusion' }).click();
  await operator.getByRole('textbox', { name: 'Conclusion' }).fill('It was **the disk**.');
  await operator.keyboard.press('Control+Enter');
  await viewer.locator('#investigation-end strong').filter({ hasText: 'the disk' }).waitFor();
  await operator.getByRole('combobox', { name: 'State' }).selectOption('found');
  await viewer.locator('.investigation-state').filter({ hasText: 'Found' }).waitFor();
  assert.equal(await viewer.evaluate(() => window.hacked), undefined);
  assert.equal(await viewer.locator('.markdown :is(img, script, a)').count(), 0);
  // The view opens at just this place.
  await blocks(viewer).locator('a.block-view').click();
  await viewer.waitForURL(/\/captures\/.*tab=flame/);
  return address;
}

/** Two who change the same text: the second is shown both, and loses nothing. */
export async function collide(first, second, address) {
  for (const page of [first, second]) {
    await page.goto(address);
    await page.getByRole('list', { name: 'Blocks' }).locator('> li').nth(1).getByRole('button', { name: 'Edit' }).click();
  }
  const field = (page) => page.getByRole('textbox', { name: 'Task' });
  await field(first).fill('of the first');
  await field(second).fill('of the second');
  await field(first).press('Control+Enter');
  await until('saved', async () => await field(first).count() === 0);
  await field(second).press('Control+Enter');
  await second.getByText(/has changed it meanwhile. It says now:/).waitFor();
  await second.getByRole('alert').getByText('of the first').waitFor();
  assert.equal(await field(second).inputValue(), 'of the second');
  await field(second).press('Control+Enter');
  await first.getByText('of the second').waitFor();
}
