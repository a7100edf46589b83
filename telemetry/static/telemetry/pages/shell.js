/* The search key, popovers, copy buttons, and forms that send themselves. */
"use strict";
{
  const SHOWN_FOR = 2500; // ms
  const root = document.documentElement;

  // The browser's time zone, for pages whose address has none. The first page is loaded again with it.
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const isKnown = () => document.cookie.split("; ").includes(`tz=${zone}`);
  if (zone && !isKnown()) {
    document.cookie = `tz=${zone}; path=/; max-age=31536000; samesite=lax`;
    const isChosen = new URLSearchParams(location.search).has("tz");
    // Without cookies it would be loaded for ever.
    if (isKnown() && !isChosen && zone !== document.body.dataset.zone) location.reload();
  }

  // Single keys, which people can switch off: they get in the way of speech input.
  const areKeysOn = () => localStorage.getItem("sluice-keys") !== "off";
  const isTyping = (element) => element.matches("input, select, textarea, [contenteditable]");
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!areKeysOn() || isTyping(event.target)) return;
    event.preventDefault();
    document.querySelector("[data-search]").focus();
  });
  const toggle = document.querySelector("[data-shortcuts]");
  const showKeys = () => { toggle.querySelector("b").textContent = areKeysOn() ? "on" : "off"; };
  if (toggle) {
    toggle.hidden = false;
    showKeys();
    toggle.addEventListener("click", () => {
      localStorage.setItem("sluice-keys", areKeysOn() ? "off" : "on");
      showKeys();
    });
  }

  // Popovers close on Escape, which gives the focus back, and on a click elsewhere.
  const open = () => [...document.querySelectorAll("details.popover[open]")];
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const each of open()) {
      each.open = false;
      each.querySelector("summary").focus();
    }
  });
  document.addEventListener("click", (event) => {
    for (const each of open()) if (!each.contains(event.target)) each.open = false;
  });

  // Copy buttons. The clipboard exists on https and on localhost only.
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const words = button.textContent;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "Copied";
    } catch {
      button.textContent = "This browser copies on https only; use the link below";
    }
    setTimeout(() => { button.textContent = words; }, SHOWN_FOR);
  });
  const showCopyButtons = () => document.querySelectorAll("[data-copy]").forEach((button) => { button.hidden = false; });
  document.addEventListener("sluice:swapped", showCopyButtons);
  showCopyButtons();

  // A choice in the control bar is obeyed at once.
  document.querySelectorAll("form[data-sends-itself]").forEach((form) => {
    form.querySelector(".apply").hidden = true;
    form.addEventListener("change", () => form.requestSubmit());
  });
  root.classList.add("has-scripts");
}
