// Captures are tagged and described, found by it, and sorted.

import assert from 'node:assert/strict';
import { until } from '../lib/server.mjs';

/** @import { Page } from 'playwright-core' */

/** Chooses captures by keys and by the head of the column, tags them together, and takes their deletion back. */
async function chooseSeveral(page) {
  const rows = page.locator('#history tbody tr');
  await until('all captures', async () => (await rows.count()) > 1);
  const count = await rows.count();
  await rows.first().focus();
  await page.keyboard.press('x');
  const bar = page.getByRole('toolbar', { name: 'Selected captures' });
  await bar.getByText('1 capture selected').waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('x');
  await bar.getByText('2 captures selected').waitFor();
  await page.getByLabel('Select all captures that are shown').check();
  await bar.getByText(`${count} captures selected`).waitFor();
  await bar.getByRole('button', { name: 'Tag', exact: true }).click();
  await page.getByLabel('Tags, with blanks between them').fill('together');
  await page.keyboard.press('Enter');
  await page.getByText(`${count} captures tagged.`).waitFor();
  await until('the tag in each row', async () => (await rows.getByRole('link', { name: 'together', exact: true }).count()) === count);
  await bar.getByRole('button', { name: 'Remove tags' }).click();
  await page.getByLabel('Tags, with blanks between them').fill('together');
  await page.keyboard.press('Enter');
  await until('no such tag', async () => (await rows.getByRole('link', { name: 'together', exact: true }).count()) === 0);
  await bar.getByRole('button', { name: 'Delete' }).click();
  await until('an empty list', async () => (await rows.count()) === 0);
  await page.getByRole('button', { name: 'Undo' }).click();
  await until('all captures again', async () => (await rows.count()) === count);
  assert.ok(await bar.isHidden());
  await restoreFromList(page, rows);
}

/** Deletes a capture and restores it from the list of deleted ones, by keys. */
async function restoreFromList(page, rows) {
  const count = await rows.count();
  const deleted = page.locator('details.deleted', { hasText: 'Deleted captures' });
  const restorable = deleted.getByRole('button', { name: /^Restore: / });
  await deleted.locator('summary').press('Enter');
  await deleted.getByText('A deleted capture can be restored for a day.').waitFor();
  const before = await restorable.count();
  await page.getByRole('button', { name: /^Delete / }).first().press('Enter');
  await until('one less', async () => (await rows.count()) === count - 1);
  await until('one more to restore', async () => (await restorable.count()) === before + 1);
  await restorable.first().press('Enter');
  await page.getByText(/^Restored “/).waitFor();
  await until('all captures again', async () => (await rows.count()) === count);
  await until('it is not deleted any more', async () => (await restorable.count()) === before);
}

/** Tags and describes a capture by the keyboard, and finds it by both. */
export async function tagAndFind(page, server, id) {
  await page.goto(`${server.origin}/captures/${id}?v=3&tab=info`);
  const field = page.getByLabel('Add a tag');
  await field.fill('Slow, disk');
  await field.press('Enter');
  await page.getByRole('link', { name: 'slow', exact: true }).waitFor();
  await until('the field to be ready for more', async () => field.evaluate((it) => it === document.activeElement && it.value === ''));
  await field.fill('two"words<b>');
  await field.press('Enter');
  await page.getByText('has a character that tags do not have').first().waitFor();
  await page.getByRole('button', { name: 'Describe this capture' }).click();
  await page.getByRole('textbox', { name: 'Description' }).fill('Queues were full <script>window.hostile = 1</script>');
  await page.getByRole('textbox', { name: 'Description' }).press('Control+Enter');
  await page.getByText('Queues were full <script>').waitFor();
  assert.equal(await page.evaluate(() => window.hostile), undefined);
  await page.getByRole('button', { name: 'Remove the tag disk' }).click();
  await until('the tag to be gone', async () => (await page.getByRole('link', { name: 'disk', exact: true }).count()) === 0);
  await page.reload();
  await page.getByText('Queues were full <script>').waitFor();
  await page.getByRole('link', { name: 'slow', exact: true }).click();
  await page.waitForURL((url) => url.searchParams.get('q') === 'tag:slow');
  await page.getByText('1 capture found').waitFor();
  const search = page.getByRole('searchbox', { name: 'Search captures' });
  await search.fill('queues -tag:slow');
  await page.getByText('No match in').waitFor();
  await search.fill('is:late');
  await page.getByText('is: is one of pinned').waitFor();
  await search.fill('queues');
  await page.getByText('1 capture found').waitFor();
  await search.fill('');
  await chooseSeveral(page);
  const titles = async () => page.locator('#history tbody td.wide > a').allTextContents();
  await until('all captures', async () => (await titles()).length > 1);
  await page.getByRole('button', { name: 'Title' }).click();
  await page.waitForURL((url) => url.searchParams.get('sort') === 'title');
  const fold = (text) => text.toLowerCase();
  const isSorted = async (sign) => {
    const all = (await titles()).map(fold);
    return all.length > 1 && all.every((text, i) => i === 0 || sign * (text < all[i - 1] ? -1 : text > all[i - 1] ? 1 : 0) >= 0);
  };
  await until('titles from a to z', () => isSorted(1));
  assert.equal(await page.getByRole('columnheader', { name: 'Title' }).getAttribute('aria-sort'), 'ascending');
  await page.getByRole('button', { name: 'Title' }).click();
  await until('titles from z to a', () => isSorted(-1));
  await page.reload();
  await until('the same order after a reload', () => isSorted(-1));
}
