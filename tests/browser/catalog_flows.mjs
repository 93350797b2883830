// The catalogue, as a person uses it: search, walk with the keyboard, read an entry, follow a link to it.

import { strict as assert } from 'node:assert';

import { until } from '../lib/server.mjs';

/** The names in sight. */
async function namesInSight(page) {
  return page.getByRole('grid', { name: 'Entries' }).evaluate((grid) => [...grid.querySelectorAll('.vt-row')]
    .filter((row) => row.checkVisibility()).map((row) => row.querySelector('[role=gridcell]').textContent));
}

/** Searches by typing and opens the best with the keyboard alone; then again by its address. */
export async function searchCatalogue(page, { typed, name, shows }) {
  await page.getByRole('link', { name: 'Catalogue' }).click();
  await page.waitForURL(/\/catalog/);
  await page.getByRole('grid', { name: 'Entries' }).focus();
  await page.keyboard.press('/');
  await page.keyboard.type(typed);
  await until(`${name} at the top`, async () => await page.getByRole('grid', { name: 'Entries' }).count() && (await namesInSight(page))[0] === name);
  await page.keyboard.press('ArrowDown');
  const details = page.getByRole('complementary', { name: 'Details' });
  await details.getByRole('heading', { name, exact: true }).waitFor();
  await details.getByText(shows).first().waitFor();
  await until('the address', () => new URL(page.url()).searchParams.get('name') === name);
  await page.reload();
  await details.getByRole('heading', { name, exact: true }).waitFor();
  assert.equal(await page.locator('#catalog-search').inputValue(), typed);
  await page.getByRole('grid', { name: 'Entries' }).focus();
  await page.keyboard.press('Escape');
  await until('no details', async () => !await details.isVisible());
}

/** Chooses a kind; gives the names in sight. */
export async function chooseKind(page, { kind, has }) {
  await page.goto(`${new URL(page.url()).origin}/catalog`);
  await page.getByRole('navigation', { name: 'Kinds' }).getByRole('button', { name: kind }).click();
  await until(`${has} among ${kind}`, async () => await page.getByRole('grid', { name: 'Entries' }).count() && (await namesInSight(page)).includes(has));
}

/** What is not called so is said, with a way on. */
export async function findNothing(page) {
  const search = page.locator('#catalog-search');
  await search.fill('no such thing anywhere');
  await page.getByText('No match.').waitFor();
  await search.press('Escape');
  await page.getByRole('grid', { name: 'Entries' }).waitFor();
}
