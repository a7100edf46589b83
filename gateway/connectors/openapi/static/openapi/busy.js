"use strict";

// Reading and storing a large document takes seconds: it is said, and asked for once.
for (const form of document.querySelectorAll("form[data-busy]")) {
  const button = form.querySelector("input[type=submit]");
  const status = form.querySelector("[data-status]");

  const tell = (busy) => {
    button.disabled = busy;
    status.textContent = busy ? form.dataset.busy : "";
  };

  form.addEventListener("submit", () => tell(true));
  window.addEventListener("pageshow", () => tell(false)); // also by the browser's way back
}
