// What a link to a view begins with, and who can open it.

/**
 * Whether an address leads only to the machine that opens it.
 * @param {string} origin such as `http://127.0.0.1:7070`
 */
export function isLoopback(origin) {
  const { hostname } = new URL(origin);
  return hostname === "localhost" || hostname.endsWith(".localhost") || /^127\.|^\[::1\]$/.test(hostname);
}

/**
 * A link to a view of this console, and what is said when it was copied.
 * @param {string|null} publicUrl the address by which others reach the console, if somebody said it
 * @param {string} origin of the page
 * @param {string} address path and query
 * @param {string} [what] it opens
 */
export function linkTo(publicUrl, origin, address, what = "this view") {
  const begin = publicUrl ?? origin;
  const words = isLoopback(begin)
    ? `Link copied. Only this machine opens it, as it begins with ${new URL(begin).host}. For others, Export saves a file, or start Bathyscope with --public-url.`
    : `Link copied. It opens ${what} for everybody who may log in here.`;
  return { url: begin + address, words };
}
