"use strict";

// Only what says more about the chosen authentication is shown. Without this, all of it is, and each help text says
// what it is of.
document.addEventListener("DOMContentLoaded", () => {
  const choice = document.getElementById("id_authentication");
  if (!choice) return;
  const inputs = [...document.querySelectorAll("[data-shown-for]")];

  const show = () => {
    for (const input of inputs) {
      input.closest(".form-row").hidden = !input.dataset.shownFor.split(" ").includes(choice.value);
    }
  };

  choice.addEventListener("change", show);
  show();
});
