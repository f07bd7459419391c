// How pages look, as `core/preferences` keeps it: before they are shown, and also for those that need no other script.
try {
  for (const name of ["theme", "text", "motion"]) {
    const kept = localStorage.getItem(`sfumato.${name}`);
    if (kept !== null) document.documentElement.dataset[name] = JSON.parse(kept);
  }
} catch {
  // They look as the system does.
}
