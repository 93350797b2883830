// What messages about a script come to as a whole.

/**
 * The parameters that a script waits for, in words, where nothing else is wrong with it; empty otherwise.
 * @param {{severity: string, message: string}[]} messages
 */
export function missingParameters(messages) {
  const errors = messages.filter(({ severity }) => severity === "error");
  const numbers = errors.map(({ message }) => /needs parameter (\d+), which was not given/.exec(message)?.[1]);
  if (numbers.length === 0 || numbers.some((number) => !number)) return "";
  const names = [...new Set(numbers)].map((number) => `$${number}`);
  return `parameter${names.length > 1 ? "s" : ""} ${names.join(" and ")}`;
}
