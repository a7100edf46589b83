/* Says changes of lights to screen readers: only those, after a refresh has swapped the page's regions. */
"use strict";
{
  const said = document.getElementById("lights-said");
  const states = () => new Map([...document.querySelectorAll("#lights [data-light]")].map((each) => [each.dataset.light, each.dataset.state]));
  let before = states();

  document.addEventListener("sluice:swapped", () => {
    const now = states();
    const changed = [...now].filter(([light, state]) => before.get(light) !== state);
    before = now;
    if (changed.length) said.textContent = changed.map(([light, state]) => `${light}: ${state}.`).join(" ");
  });
}
