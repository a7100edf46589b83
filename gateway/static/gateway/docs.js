"use strict";

// Swagger UI's dark style follows the theme button, and the system where the button says "auto".
{
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const follow = () => {
    const chosen = root.dataset.theme;
    root.classList.toggle("dark-mode", chosen === "dark" || (chosen !== "light" && system.matches));
  };
  new MutationObserver(follow).observe(root, { attributeFilter: ["data-theme"] });
  system.addEventListener("change", follow);
  follow();
}
