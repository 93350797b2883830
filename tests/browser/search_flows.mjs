// A capture is found by a word in a note, by fields, and by a search that is kept by name.

import assert from 'node:assert/strict';
import { until } from '../lib/server.mjs';

/** Writes a note by API, as its place does not matter here. */
async function note(page, id, text) {
  const made = await page.evaluate(async ([capture, words]) => {
    const body = JSON.stringify({ start: 0, text: words });
    const headers = { 'content-type': 'application/json' };
    return (await fetch(`/api/captures/${capture}/notes`, { method: 'POST', headers, body })).status;
  }, [id, text]);
  assert.ok(made < 300, `the note was answered with ${made}`);
}

/** Finds a capture by a word in its note, and by fields. */
export async function findByNote(page, server, id) {
  await note(page, id, 'The pool was exhausted <img src=x onerror="window.hostile = 1">');
  await page.goto(`${server.origin}/captures`);
  const rows = page.locator('#history tbody tr');
  await until('all captures', async () => (await rows.count()) > 1);
  const search = page.getByRole('searchbox', { name: 'Search captures' });
  await search.fill('exhausted');
  await page.getByText('1 capture found').waitFor();
  const line = page.locator('.found-line');
  await line.getByText('note: ').waitFor();
  assert.equal(await line.locator('mark').textContent(), 'exhausted');
  assert.ok((await line.textContent()).includes('<img src=x'), 'what a note says is text');
  assert.equal(await page.evaluate(() => window.hostile), undefined);
  await search.fill('"pool exhausted"');
  await page.getByText('No match in').waitFor();
  await search.fill('-exhausted');
  await until('the others', async () => (await rows.count()) > 0 && !(await page.getByText('No match in').isVisible()));
  await filterByFields(page, search);
  await saveSearch(page, server, search);
}

/** The fields write conditions and show those that are typed. */
async function filterByFields(page, search) {
  await search.fill('exhausted');
  await page.locator('#history-filters summary').click();
  await page.getByLabel('Pin', { exact: true }).selectOption('not pinned');
  await until('the condition in the search', async () => (await search.inputValue()) === 'exhausted -is:pinned');
  await page.getByText('1 capture found').waitFor();
  await page.getByLabel('Larger than').fill('900G');
  await page.getByLabel('Larger than').press('Enter');
  await page.getByText('No match in').waitFor();
  await search.fill('is:pinned');
  await until('the field to follow', async () => (await page.getByLabel('Pin', { exact: true }).inputValue()) === 'is:pinned');
  assert.equal(await page.getByLabel('Larger than').inputValue(), '');
}

/** A search is kept, and offered in the history and in the library. */
async function saveSearch(page, server, search) {
  await search.fill('exhausted sort:title');
  await page.getByText('1 capture found').waitFor();
  assert.equal(await page.getByRole('columnheader', { name: 'Title' }).getAttribute('aria-sort'), 'ascending');
  await page.getByRole('button', { name: 'Saved searches' }).press('Enter');
  await page.getByRole('menuitem', { name: 'Save this search' }).press('Enter');
  await page.getByLabel('Name', { exact: true }).fill('full-pools');
  await page.getByLabel('Name', { exact: true }).press('Enter');
  await page.getByText('Kept this search as full-pools').waitFor();
  await search.fill('');
  await page.getByRole('button', { name: 'Saved searches' }).press('Enter');
  await page.getByRole('menuitem', { name: 'full-pools' }).press('Enter');
  await until('the search', async () => (await search.inputValue()) === 'exhausted sort:title');
  await page.getByText('1 capture found').waitFor();
  await page.goto(`${server.origin}/library`);
  await page.getByText('full-pools').first().click();
  await page.getByRole('link', { name: 'Show the captures' }).click();
  await page.getByText('1 capture found').waitFor();
  assert.equal(new URL(page.url()).searchParams.get('q'), 'exhausted sort:title');
}
