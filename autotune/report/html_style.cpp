#include "autotune/report/html_style.h"

namespace wkvc {

std::string_view html_style() {
  return R"(:root {
  color-scheme: light dark;
  --back: #ffffff; --text: #1b1f24; --soft: #57606a; --grid: #e3e7eb; --plain: #8aa5c4;
  --winner: #11783c; --default: #b45309; --bad: #b4232c; --bound: #b4232c;
  --shade0: #08306b; --shade1: #2271b5; --shade2: #5ba3cf; --shade3: #9cc9e2; --shade4: #cfe1f2; --edge: #57606a;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #15181c; --text: #e6e9ec; --soft: #a3adb8; --grid: #2b3138; --plain: #5d7ea5;
    --winner: #4cc27a; --default: #f0a04b; --bad: #ff7b72; --bound: #ff7b72;
    --shade0: #f2f8ff; --shade1: #a9d2f5; --shade2: #5fa4dc; --shade3: #346f9f; --shade4: #234560; --edge: #8b96a2;
  }
}
body { background: var(--back); color: var(--text); font: 15px/1.5 system-ui, sans-serif; margin: 2em auto;
       max-width: 1000px; padding: 0 1em; }
h1 { font-size: 1.5em; } h2 { font-size: 1.25em; margin-top: 2em; } h3 { font-size: 1.05em; margin: 2em 0 0.2em; }
h4 { font-size: 1em; margin: 1em 0 0.2em; }
.headline { font-size: 1.05em; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1.5em; color: var(--soft); }
dd { margin: 0; color: var(--text); }
ul { columns: 2 24em; column-gap: 2.5em; padding-left: 1.2em; font-size: 0.87em; }
li { break-inside: avoid; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
svg { display: block; width: 100%; min-width: 640px; height: auto; font: 12px system-ui, sans-serif; }
svg text { fill: var(--text); }
svg .tick, svg .label { fill: var(--soft); }
svg .halo { paint-order: stroke; stroke: var(--back); stroke-width: 4px; stroke-linejoin: round; }
svg .name.winner, svg .name.default, svg .note { font-weight: 600; fill: var(--text); }
svg .grid { stroke: var(--grid); } svg .axis { stroke: var(--soft); }
svg .bound { stroke: var(--bound); stroke-dasharray: 5 4; } svg .predicted { stroke: var(--text); stroke-width: 1.5; }
svg .mark.plain { fill: var(--plain); } svg .mark.winner { fill: var(--winner); } svg .mark.default { fill: var(--default); }
svg circle.mark { stroke: var(--back); stroke-width: 1; fill-opacity: 0.85; }
svg circle.mark.rejected { fill: none; stroke: var(--bad); stroke-width: 1.5; }
svg .shade0 { fill: var(--shade0); } svg .shade1 { fill: var(--shade1); } svg .shade2 { fill: var(--shade2); }
svg .shade3 { fill: var(--shade3); } svg .shade4 { fill: var(--shade4); }
svg circle.shade3, svg circle.shade4 { stroke: var(--edge); }
svg circle.ring-default { stroke: var(--default); stroke-width: 3; }
svg circle.ring-winner { stroke: var(--winner); stroke-width: 3; }
.legend { color: var(--soft); font-size: 0.87em; margin: 0.2em 0 0.6em; }
.key { display: inline-block; width: 0.8em; height: 0.8em; margin: 0 0.35em 0 0.9em; border-radius: 50%; }
.key:first-child { margin-left: 0; }
.key.winner { background: var(--winner); } .key.default { background: var(--default); }
.key.predicted { background: var(--text); width: 2px; border-radius: 0; }
.key.rejected { border: 1.5px solid var(--bad); box-sizing: border-box; }
.key.shade0 { background: var(--shade0); outline: 1px solid var(--edge); } .key.shade1 { background: var(--shade1); }
.key.shade2 { background: var(--shade2); } .key.shade3 { background: var(--shade3); }
.key.shade4 { background: var(--shade4); outline: 1px solid var(--edge); }
.key.ring-winner { border: 3px solid var(--winner); box-sizing: border-box; }
.key.ring-default { border: 3px solid var(--default); box-sizing: border-box; }
table { border-collapse: collapse; font-size: 0.8em; }
th, td { border-bottom: 1px solid var(--grid); padding: 0.15em 0.6em; text-align: left; white-space: nowrap; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
)";
}

}  // namespace wkvc
