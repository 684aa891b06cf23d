"""How the page looks; in a widget, `<style>` is all there is for it, and shares the dashboard with others."""

from redeliver.page.markup import Markup

_LIGHT = (
    "--ink:#16191f;--soft:#5f6b7a;--paper:#fff;--line:#e3e7ea;--band:#f4f6f8;--link:#0b5cad;--press:#0972d3;"
    "--on-press:#fff;--sent:#1a7431;--sent-on:#e6f4ea;--wait:#0b5cad;--wait-on:#e3effb;--retry:#8a4b00;"
    "--retry-on:#fdf0dc;--dead:#b42318;--dead-on:#fdeceb;--other:#495461;--other-on:#e9ecef;"
)
_DARK = (
    "--ink:#dfe3e8;--soft:#98a4b3;--paper:#161d26;--line:#2c3643;--band:#1d2631;--link:#6cb6ff;--press:#539fe5;"
    "--on-press:#0b1017;--sent:#7ee29b;--sent-on:#153524;--wait:#8cc4ff;--wait-on:#14304d;--retry:#ffc46b;"
    "--retry-on:#3d2c0f;--dead:#ff9c94;--dead-on:#461d1c;--other:#b9c3cf;--other-on:#2a3441;"
)
_RULES = """
.redeliver-history{@LIGHT@color:var(--ink);background:var(--paper);padding:14px 16px;
font:13px/1.45 "Amazon Ember","Helvetica Neue",Roboto,Arial,sans-serif;text-align:left}
.redeliver-history.rh-dark{@DARK@}
.redeliver-history *{box-sizing:border-box}
.redeliver-history cwdb-action{display:none}
.redeliver-history h2{font-size:17px;line-height:1.3;margin:10px 0 6px;font-weight:600;overflow-wrap:anywhere}
.redeliver-history h3{font-size:13px;margin:18px 0 6px;font-weight:600}
.redeliver-history p{margin:6px 0 10px}
.rh-bar{display:flex;flex-wrap:wrap;gap:10px;align-items:flex-end;margin:0 0 10px}
.rh-bar form{display:flex;flex-wrap:wrap;gap:10px;margin:0}
.rh-bar label{display:block;color:var(--soft);font-size:12px}
.rh-bar select,.rh-bar input{display:block;margin-top:3px;height:30px;min-width:140px;padding:0 8px;font:inherit;
color:var(--ink);background:var(--paper);border:1px solid var(--soft);border-radius:6px}
.rh-action{color:var(--link);cursor:pointer;text-decoration:none}
.rh-action:hover,.rh-action:focus{text-decoration:underline}
.rh-press,.rh-quiet{display:inline-block;line-height:28px;padding:0 14px;border-radius:15px;font-weight:600;
border:1px solid var(--press);color:var(--press);white-space:nowrap}
.rh-press{background:var(--press);color:var(--on-press)}
.rh-press:hover,.rh-quiet:hover,.rh-press:focus,.rh-quiet:focus{text-decoration:none;filter:brightness(1.12)}
.rh-place{margin-left:auto;color:var(--soft);line-height:30px}
.rh-wide{overflow-x:auto}
.redeliver-history table{width:100%;border-collapse:collapse;background:none}
.redeliver-history th{text-align:left;font-weight:600;font-size:12px;color:var(--soft);padding:6px 10px;
border-bottom:1px solid var(--line);white-space:nowrap;background:var(--band)}
.redeliver-history td{padding:7px 10px;border-bottom:1px solid var(--line);vertical-align:top;color:var(--ink)}
.rh-list tbody tr:hover{background:var(--band)}
.rh-time,.rh-number{white-space:nowrap;font-variant-numeric:tabular-nums}
.redeliver-history th.rh-number,.redeliver-history td.rh-number{text-align:right}
.redeliver-history td.rh-soft{color:var(--soft)}
.redeliver-history .rh-narrow{width:auto}
.rh-subject{min-width:260px;overflow-wrap:anywhere}
.rh-key,.rh-soft{color:var(--soft);font-size:12px;overflow-wrap:anywhere}
.rh-key{font-family:ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:11px}
.rh-subject .rh-key{display:block}
.rh-pill{display:inline-block;padding:1px 9px;border-radius:10px;font-size:12px;font-weight:600;white-space:nowrap;
margin-right:6px;color:var(--other);background:var(--other-on)}
.rh-sent{color:var(--sent);background:var(--sent-on)}
.rh-pending{color:var(--wait);background:var(--wait-on)}
.rh-retrying{color:var(--retry);background:var(--retry-on)}
.rh-dead_lettered{color:var(--dead);background:var(--dead-on)}
.rh-note{padding:8px 12px;margin:0 0 10px;border-radius:8px;background:var(--band);border-left:3px solid var(--soft)}
.rh-good{border-left-color:var(--sent)}
.rh-bad{border-left-color:var(--dead)}
.rh-facts{display:grid;grid-template-columns:150px 1fr;gap:5px 18px;margin:8px 0 0}
.rh-facts dt{color:var(--soft)}
.rh-facts dd{margin:0;overflow-wrap:anywhere}
.redeliver-history pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:0;padding:10px 12px;border-radius:8px;
background:var(--band);color:var(--ink);border:0;font:12px/1.5 ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace}
.rh-foot{display:flex;gap:10px;align-items:center;margin-top:12px}
"""
STYLE = Markup("<style>" + _RULES.replace("@LIGHT@", _LIGHT).replace("@DARK@", _DARK) + "</style>")
