"""The style sheet of the timeline: light and dark, wide and narrow."""

from typing import Final

_DEPTHS: Final = "".join(f".d{depth} .name{{padding-left:{depth * 1.1:.1f}rem}}" for depth in range(13))

STYLE: Final = f"""
:root{{color-scheme:light dark;--back:#fbfbfa;--face:#fff;--text:#1d2127;--soft:#626a75;--rule:#e2e4e8;--hover:#f1f3f6;
--span:#9aa5b4;--generation:#7c5cd6;--tool:#0f8f83;--agent:#2b6cd4;--error:#c8321f;--wait:#c98a12;--focus:#2b6cd4}}
@media (prefers-color-scheme:dark){{:root{{--back:#14171b;--face:#1b1f25;--text:#e6e8eb;--soft:#98a1ad;--rule:#2c323a;
--hover:#232931;--span:#66727f;--generation:#a58bf2;--tool:#3cc0b2;--agent:#6fa4f7;--error:#f2705e;--wait:#e0ad46;
--focus:#8db8ff}}}}
*{{box-sizing:border-box}}
body{{margin:0;background:var(--back);color:var(--text);font:14px/1.45 system-ui,-apple-system,"Segoe UI",sans-serif}}
header{{padding:1.5rem 1.5rem .75rem}}
h1{{margin:0 0 .9rem;font-size:1.25rem;font-weight:600;overflow-wrap:anywhere}}
header dl{{display:flex;flex-wrap:wrap;gap:.6rem 2rem;margin:0}}
dt{{color:var(--soft);font-size:.78rem}}
header dd{{margin:0;font-variant-numeric:tabular-nums;font-weight:550}}
.legend{{display:flex;flex-wrap:wrap;gap:.3rem 1.1rem;margin:1rem 0 0;color:var(--soft);font-size:.8rem}}
.key::before{{content:"";display:inline-block;width:.75rem;height:.75rem;margin-right:.4rem;border-radius:2px;
vertical-align:-1px;background:var(--c)}}
.key.generation{{--c:var(--generation)}}.key.tool{{--c:var(--tool)}}.key.agent{{--c:var(--agent)}}
.key.span{{--c:var(--span)}}.key.error{{--c:var(--error)}}
.key.wait::before{{background:repeating-linear-gradient(45deg,var(--wait) 0 2px,transparent 2px 5px)}}
.key.interrupted::before{{background:transparent;border:1.5px dashed var(--error)}}
main{{margin:0 1.5rem 3rem;background:var(--face);border:1px solid var(--rule);border-radius:8px;overflow:hidden}}
.row{{display:grid;grid-template-columns:minmax(14rem,26rem) 1fr 5.5rem;gap:.75rem;align-items:center;
padding:0 .9rem;min-height:2rem;border-top:1px solid var(--rule)}}
.ruler{{border-top:0;color:var(--soft);font-size:.72rem;min-height:1.7rem}}
.ruler svg{{height:20px}}.ruler text{{fill:var(--soft)}}
.row svg{{width:100%;height:22px;display:block;overflow:visible}}
.defs{{position:absolute;width:0;height:0}}
.line{{fill:var(--wait)}}
.name{{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}}
.name a{{color:inherit;text-decoration:none}}.name a:hover{{text-decoration:underline}}
.name em{{font-style:normal;font-size:.75rem;color:var(--soft);margin-left:.35rem}}
.name em.error,.name em.interrupted{{color:var(--error)}}.name em.waiting,.name em.suspended{{color:var(--wait)}}
.took{{text-align:right;color:var(--soft);font-variant-numeric:tabular-nums;white-space:nowrap}}
summary{{list-style:none;cursor:pointer;position:relative}}
summary::-webkit-details-marker{{display:none}}
summary:hover .row,.row:hover{{background:var(--hover)}}.ruler:hover{{background:none}}
summary .name::before{{content:"\\25B8";display:inline-block;width:1rem;color:var(--soft)}}
details[open]>summary .name::before{{content:"\\25BE"}}
details .row:not(summary .row) .name::before{{content:"";display:inline-block;width:1rem}}
:focus-visible{{outline:2px solid var(--focus);outline-offset:-2px;border-radius:3px}}
rect{{rx:3px}}
rect.span{{fill:var(--span);opacity:.55}}rect.generation{{fill:var(--generation)}}rect.tool{{fill:var(--tool)}}
rect.agent{{fill:var(--agent);opacity:.6}}rect.error{{fill:var(--error)}}rect.span.error,rect.agent.error{{opacity:.6}}
rect.cancelled{{opacity:.35}}rect.open{{opacity:.3}}
rect.interrupted{{fill:transparent;stroke:var(--error);stroke-width:1.5;stroke-dasharray:4 3;
vector-effect:non-scaling-stroke}}
rect.wait,rect.waiting{{fill:url(#hatch);stroke:var(--wait);stroke-width:1;vector-effect:non-scaling-stroke;opacity:1}}
.facts{{display:none;position:fixed;inset:0 0 0 auto;width:min(34rem,92vw);overflow:auto;padding:1.4rem;
background:var(--face);border-left:1px solid var(--rule);box-shadow:-8px 0 30px #0003}}
.facts:target{{display:block}}
.facts h2{{margin:0 0 1rem;font-size:1.05rem;overflow-wrap:anywhere;padding-right:3rem}}
.facts h3{{margin:1.2rem 0 .4rem;font-size:.85rem;color:var(--soft)}}
.facts dl{{display:grid;grid-template-columns:8rem 1fr;gap:.25rem .75rem;margin:0}}
.facts dd{{margin:0;overflow-wrap:anywhere;white-space:pre-wrap}}
.facts ul{{margin:0;padding-left:1.1rem}}
.close{{position:absolute;right:1.2rem;top:1.3rem;color:var(--soft)}}
pre,code{{font:12px/1.5 ui-monospace,SFMono-Regular,Menlo,monospace}}
pre{{margin:0;padding:.7rem;background:var(--back);border:1px solid var(--rule);border-radius:6px;overflow:auto;
white-space:pre-wrap;overflow-wrap:anywhere}}
{_DEPTHS}
@media (max-width:46rem){{header{{padding:1rem}}main{{margin:0 .5rem 2rem}}
.row{{grid-template-columns:1fr 4.5rem;padding:.3rem .6rem;gap:.2rem .5rem}}.row svg{{grid-column:1/-1;order:3}}
.ruler>span{{display:none}}}}
@media print{{.facts{{display:none}}}}
"""
