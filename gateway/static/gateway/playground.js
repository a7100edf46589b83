/* Ctrl+Enter runs the call. Typing a draft value chooses the draft. */
"use strict";
{
  const form = document.querySelector("[data-playground]");

  form?.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    form.requestSubmit(form.querySelector("button[name=do]"));
  });
  form?.addEventListener("input", (event) => {
    if (!event.target.name.startsWith("draft-")) return;
    form.querySelector("input[value=draft]").checked = true;
  });
}
