/** How a report looks on screen and on paper. */
export const STYLE = `
:root { color-scheme: light; --ink: #1b2330; --quiet: #5c6675; --line: #dde2e9; --paper: #fff; --good: #0a7d3c; --fair: #a15c00; --bad: #c0231c; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.5rem 3rem; max-width: 62rem; color: var(--ink); background: var(--paper); font: 15px/1.5 system-ui, "DejaVu Sans", sans-serif; overflow-wrap: anywhere; }
h1 { margin: 0; font-size: 1.7rem; line-height: 1.25; }
h1 .host { color: var(--quiet); font-weight: 400; }
h2 { margin: 2.25rem 0 .75rem; padding-bottom: .35rem; border-bottom: 2px solid var(--ink); font-size: 1.2rem; line-height: 1.35; }
h3 { margin: 0 0 .4rem; font-size: 1rem; }
.meta, .url, .quiet, footer, .count { color: var(--quiet); }
.meta { margin: .35rem 0 1.25rem; }
.url { margin: 0; font-size: .85rem; }
.quiet { font-weight: 400; margin-top: 1.25rem; }
.count { font-weight: 400; }
.scores { display: flex; flex-wrap: wrap; gap: 1rem; }
.score { display: flex; align-items: center; gap: 1rem; flex: 1 1 18rem; padding: 1rem 1.25rem; border: 1px solid var(--line); border-left: 6px solid currentColor; border-radius: 6px; }
.score b { font-size: 2.6rem; line-height: 1; font-variant-numeric: tabular-nums; }
.score span { color: var(--quiet); font-size: .85rem; line-height: 1.35; }
.score strong { color: var(--ink); font-size: 1rem; }
.good { color: var(--good); } .fair { color: var(--fair); } .bad { color: var(--bad); } .none { color: var(--quiet); }
.wide { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; }
th { text-align: left; color: var(--quiet); font-size: .8rem; font-weight: 600; }
th, td { padding: .5rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
td:first-child, th:first-child { padding-left: 0; }
.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
a { color: inherit; text-decoration-color: var(--line); text-underline-offset: .2em; }
article { margin: 0 0 1.1rem; }
.tag { display: inline-block; min-width: 4.6rem; padding: .05rem .5rem; border: 1px solid currentColor; border-radius: 3px; font-size: .75rem; font-weight: 600; text-align: center; vertical-align: .1em; }
.tag.error { color: var(--bad); } .tag.warning { color: var(--fair); } .tag.notice { color: var(--quiet); }
.badge { display: inline-block; min-width: 2.6rem; margin-right: .35rem; padding: 0 .5rem; border: 2px solid currentColor; border-radius: 4px; text-align: center; font-variant-numeric: tabular-nums; }
ul { margin: 0; padding: 0; list-style: none; }
.findings li { margin: 0 0 .5rem; padding: .55rem .8rem; border: 1px solid var(--line); border-radius: 4px; background: #f7f9fb; }
.findings p { margin: .2rem 0 0; }
code { font: 12.5px/1.45 ui-monospace, "DejaVu Sans Mono", monospace; }
.passed { columns: 2; column-gap: 2rem; color: var(--good); font-size: .9rem; }
.passed li { break-inside: avoid; }
.passed li::before { content: "✓ "; }
.audits { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin-top: .9rem; font-size: .85rem; }
footer { margin-top: 2.5rem; padding-top: .75rem; border-top: 1px solid var(--line); font-size: .85rem; }
@media (max-width: 40rem) { .passed { columns: 1; } body { padding: 1.25rem 1rem 2rem; } }
@media print {
  @page { margin: 16mm 14mm; }
  body { max-width: none; padding: 0; font-size: 10.5pt; }
  .findings li { background: none; break-inside: avoid; }
  h2, h3, thead { break-after: avoid; }
  tr, .score { break-inside: avoid; }
  a { text-decoration: none; }
}
`;
