// Runs before the first paint, so that a page never flashes in the other theme. Not a module: modules wait.
(() => {
  try {
    const theme = localStorage.getItem("bathyscope-theme");
    if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  } catch {
    // No storage in this browser session: the system's theme it is.
  }
})();
