"use strict";

// Reading and storing a large document takes seconds: the page shows this, and the form is sent only once.
for (const form of document.querySelectorAll("form[data-busy]")) {
  const button = form.querySelector("input[type=submit]");
  const status = form.querySelector("[data-status]");

  const tell = (busy) => {
    button.disabled = busy;
    status.textContent = busy ? form.dataset.busy : "";
  };

  form.addEventListener("submit", () => tell(true));
  window.addEventListener("pageshow", () => tell(false)); // also after the browser's Back button
}
