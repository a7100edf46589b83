/* The keys j and k move from call to call; Enter opens one, as it does on every link. */
"use strict";
{
  const links = () => [...document.querySelectorAll("[data-calls] th a")];
  const areKeysOn = () => localStorage.getItem("sluice-keys") !== "off";

  document.addEventListener("keydown", (event) => {
    const way = { j: 1, k: -1 }[event.key];
    if (!way || event.ctrlKey || event.metaKey || event.altKey || !areKeysOn()) return;
    if (event.target.matches("input, select, textarea, [contenteditable]")) return;
    const all = links();
    const next = all[Math.max(0, all.indexOf(document.activeElement) + way)];
    next?.focus();
  });
  document.querySelectorAll(".keys-hint").forEach((hint) => { hint.hidden = !areKeysOn(); });
}
