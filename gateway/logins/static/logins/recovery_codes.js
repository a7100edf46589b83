"use strict";

// The clipboard is there on https and on localhost only; elsewhere the codes are selected instead.
const codes = document.getElementById("recovery-codes");
const said = document.querySelector(".said");
const copy = document.querySelector("[data-copy]");
const print = document.querySelector("[data-print]");

copy.addEventListener("click", async () => {
  const text = [...codes.querySelectorAll("code")].map((code) => code.textContent).join("\n");
  try {
    await navigator.clipboard.writeText(text);
    said.textContent = "Copied to the clipboard.";
  } catch {
    getSelection().selectAllChildren(codes);
    said.textContent = "Selected. Copy them with Ctrl+C or ⌘C.";
  }
});
print.addEventListener("click", () => window.print());
copy.hidden = print.hidden = false;
