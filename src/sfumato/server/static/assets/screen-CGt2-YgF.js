import{a as Je}from"./answer-BXfTyHW2.js";import{t as Qe}from"./canvas-BqwZnn-S.js";import{h as Ve,d as h,C as I,i as qe,e as Ye,p as Q,g as Ze,A as z,z as et}from"./index-ChFAPWW0.js";import{a as tt,o as nt}from"./take-D0BNUl8t.js";import{l as X}from"./live-Dl9-9KJ_.js";import{c as F}from"./repeat-CZCR8Bcl.js";import{f as rt}from"./focus-BpYcMQ1a.js";const ot={id:{type:"string",pattern:"^[a-z]{1,2}$",description:"Of a slot: unique within a page."},label:{type:"string",pattern:"^[^\\u0000-\\u0020\\u007f-\\u00a0\\u2028\\u2029|](?: ?[^\\u0000-\\u0020\\u007f-\\u00a0\\u2028\\u2029|]){0,31}$"},cell:{type:"string",pattern:"^[^\\u0000-\\u0020\\u007f-\\u00a0\\u2028\\u2029|](?: ?[^\\u0000-\\u0020\\u007f-\\u00a0\\u2028\\u2029|]){0,15}$"},color:{enum:["red","orange","yellow","green","blue","purple","pink","grey","black","white"]},block:{oneOf:[{$ref:"#/$defs/header"},{$ref:"#/$defs/text"},{$ref:"#/$defs/button"},{$ref:"#/$defs/list"},{$ref:"#/$defs/input"},{$ref:"#/$defs/table"},{$ref:"#/$defs/column"},{$ref:"#/$defs/row"},{$ref:"#/$defs/card"},{$ref:"#/$defs/image"},{$ref:"#/$defs/tabs"},{$ref:"#/$defs/chart"},{$ref:"#/$defs/progress"},{$ref:"#/$defs/badge"},{$ref:"#/$defs/select"},{$ref:"#/$defs/slider"},{$ref:"#/$defs/checkbox"},{$ref:"#/$defs/divider"}]},leaf:{oneOf:[{$ref:"#/$defs/header"},{$ref:"#/$defs/text"},{$ref:"#/$defs/button"},{$ref:"#/$defs/list"},{$ref:"#/$defs/input"},{$ref:"#/$defs/image"},{$ref:"#/$defs/chart"},{$ref:"#/$defs/progress"},{$ref:"#/$defs/badge"},{$ref:"#/$defs/select"},{$ref:"#/$defs/slider"},{$ref:"#/$defs/checkbox"},{$ref:"#/$defs/divider"}]},page:{description:"A whole screen.",type:"object",properties:{component:{const:"page"},id:{$ref:"#/$defs/id"},theme:{enum:["dark","sepia","contrast"]},text:{$ref:"#/$defs/label"},children:{type:"array",items:{$ref:"#/$defs/block"}}},required:["component","id"],additionalProperties:!1},header:{description:"A title.",type:"object",properties:{component:{const:"header"},id:{$ref:"#/$defs/id"},color:{$ref:"#/$defs/color"},size:{enum:["small","large"]},align:{enum:["center","right"]},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},text:{description:"A line of text.",type:"object",properties:{component:{const:"text"},id:{$ref:"#/$defs/id"},color:{$ref:"#/$defs/color"},size:{enum:["small","large"]},align:{enum:["center","right"]},bold:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},button:{description:"A button.",type:"object",properties:{component:{const:"button"},id:{$ref:"#/$defs/id"},color:{$ref:"#/$defs/color"},size:{enum:["small","large"]},disabled:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},list:{description:"Items or checkboxes, one below the other.",type:"object",properties:{component:{const:"list"},id:{$ref:"#/$defs/id"},numbered:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"},children:{type:"array",items:{oneOf:[{$ref:"#/$defs/item"},{$ref:"#/$defs/checkbox"}]}}},required:["component","id"],additionalProperties:!1},item:{description:"An entry of a list.",type:"object",properties:{component:{const:"item"},id:{$ref:"#/$defs/id"},color:{$ref:"#/$defs/color"},marked:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},checkbox:{description:"Something that is done or not, in a list or alone.",type:"object",properties:{component:{const:"checkbox"},id:{$ref:"#/$defs/id"},on:{const:!0},color:{$ref:"#/$defs/color"},marked:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},input:{description:"A field to type in.",type:"object",properties:{component:{const:"input"},id:{$ref:"#/$defs/id"},type:{enum:["email","number","date","time","password","search"]},required:{const:!0},disabled:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},table:{description:"Records under the names of their columns.",type:"object",properties:{component:{const:"table"},id:{$ref:"#/$defs/id"},hidden:{const:!0},cells:{type:"array",items:{$ref:"#/$defs/cell"},minItems:1,maxItems:5},children:{type:"array",items:{oneOf:[{$ref:"#/$defs/record"}]}}},required:["component","id","cells"],additionalProperties:!1},record:{description:"A row of a table: a cell for each column.",type:"object",properties:{component:{const:"record"},id:{$ref:"#/$defs/id"},marked:{const:!0},hidden:{const:!0},cells:{type:"array",items:{$ref:"#/$defs/cell"},minItems:1,maxItems:5}},required:["component","id","cells"],additionalProperties:!1},column:{description:"Components, one below the other.",type:"object",properties:{component:{const:"column"},id:{$ref:"#/$defs/id"},hidden:{const:!0},children:{type:"array",items:{$ref:"#/$defs/leaf"}}},required:["component","id"],additionalProperties:!1},row:{description:"Components, side by side.",type:"object",properties:{component:{const:"row"},id:{$ref:"#/$defs/id"},hidden:{const:!0},children:{type:"array",items:{oneOf:[{$ref:"#/$defs/header"},{$ref:"#/$defs/text"},{$ref:"#/$defs/button"},{$ref:"#/$defs/list"},{$ref:"#/$defs/input"},{$ref:"#/$defs/image"},{$ref:"#/$defs/chart"},{$ref:"#/$defs/progress"},{$ref:"#/$defs/badge"},{$ref:"#/$defs/select"},{$ref:"#/$defs/slider"},{$ref:"#/$defs/checkbox"},{$ref:"#/$defs/divider"},{$ref:"#/$defs/column"},{$ref:"#/$defs/card"}]}}},required:["component","id"],additionalProperties:!1},card:{description:"A framed group.",type:"object",properties:{component:{const:"card"},id:{$ref:"#/$defs/id"},color:{$ref:"#/$defs/color"},marked:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"},children:{type:"array",items:{$ref:"#/$defs/leaf"}}},required:["component","id"],additionalProperties:!1},image:{description:"The place of an image that the text describes.",type:"object",properties:{component:{const:"image"},id:{$ref:"#/$defs/id"},size:{enum:["small","large"]},align:{enum:["center","right"]},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},tabs:{description:"Tabs, one of which is shown.",type:"object",properties:{component:{const:"tabs"},id:{$ref:"#/$defs/id"},hidden:{const:!0},children:{type:"array",items:{oneOf:[{$ref:"#/$defs/tab"}]}}},required:["component","id"],additionalProperties:!1},tab:{description:"What one tab shows.",type:"object",properties:{component:{const:"tab"},id:{$ref:"#/$defs/id"},on:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"},children:{type:"array",items:{oneOf:[{$ref:"#/$defs/header"},{$ref:"#/$defs/text"},{$ref:"#/$defs/button"},{$ref:"#/$defs/list"},{$ref:"#/$defs/input"},{$ref:"#/$defs/image"},{$ref:"#/$defs/chart"},{$ref:"#/$defs/progress"},{$ref:"#/$defs/badge"},{$ref:"#/$defs/select"},{$ref:"#/$defs/slider"},{$ref:"#/$defs/checkbox"},{$ref:"#/$defs/divider"},{$ref:"#/$defs/table"}]}}},required:["component","id","text"],additionalProperties:!1},chart:{description:"A diagram; each cell is a label and its number.",type:"object",properties:{component:{const:"chart"},id:{$ref:"#/$defs/id"},type:{enum:["line","pie"]},color:{$ref:"#/$defs/color"},hidden:{const:!0},text:{$ref:"#/$defs/label"},cells:{type:"array",items:{$ref:"#/$defs/cell"},minItems:0,maxItems:5}},required:["component","id","text"],additionalProperties:!1},progress:{description:"A bar that is filled by a percentage.",type:"object",properties:{component:{const:"progress"},id:{$ref:"#/$defs/id"},value:{type:"integer",minimum:0,maximum:100},color:{$ref:"#/$defs/color"},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},badge:{description:"A short label.",type:"object",properties:{component:{const:"badge"},id:{$ref:"#/$defs/id"},color:{$ref:"#/$defs/color"},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},select:{description:"A choice between the cells.",type:"object",properties:{component:{const:"select"},id:{$ref:"#/$defs/id"},disabled:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"},cells:{type:"array",items:{$ref:"#/$defs/cell"},minItems:0,maxItems:5}},required:["component","id","text"],additionalProperties:!1},slider:{description:"A value between 0 and 100.",type:"object",properties:{component:{const:"slider"},id:{$ref:"#/$defs/id"},value:{type:"integer",minimum:0,maximum:100},disabled:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},divider:{description:"A line between what is above and what is below.",type:"object",properties:{component:{const:"divider"},id:{$ref:"#/$defs/id"},hidden:{const:!0}},required:["component","id"],additionalProperties:!1}},st={$defs:ot},re=4,Z=Array.from("abcdefghijklmnopqrstuvwxyz"),M=[...Z,...Z.flatMap(e=>Z.map(t=>e+t))],ze=new Map(M.map((e,t)=>[e,t])),it=/^( *)(?:([a-z]{1,2}) )?([a-z]{3,})((?: [a-z0-9]+)*)(?:: ([^\n]+))?$/u,lt=/^(?:0|[1-9]\d*)$/;class u extends Error{constructor(){super(...arguments),this.name="PageError"}}const ie=st.$defs,Ie=e=>e.$ref?.split("/").at(-1)??"";function oe(e){return e.$ref===void 0?e:oe(ie[Ie(e)]??{})}function dt(e,t){const n=new Map;let o=[0,0];const r=t.properties??{};for(const[d,l]of Object.entries(r)){const a=oe(l);if(a.type==="integer")n.set("#",d),o=[a.minimum??0,a.maximum??0];else if(d!=="component"&&(a.enum!==void 0||a.const!==void 0))for(const c of a.enum??[d])n.set(c,d)}const s=r.cells??{},i=oe(r.children?.items??{}).oneOf??[];return{name:e,words:n,properties:[...new Set(n.values())],range:o,hasText:"text"in r,needsText:t.required?.includes("text")??!1,cells:[s.minItems??0,s.maxItems??0],children:new Set(i.map(Ie))}}const J=new Map(Object.entries(ie).filter(([,e])=>e.properties!==void 0&&"component"in e.properties).map(([e,t])=>[e,dt(e,t)])),be=e=>new RegExp(ie[e]?.pattern??"","u"),we={label:be("label"),cell:be("cell")};function T(e){const t=J.get(e.kind);if(t===void 0)throw new u(Se("component",e.kind,J.keys()));return t}function b(e){const t=e.replaceAll("\\","\\\\").replaceAll(`
`,"\\n");return t.includes("'")&&!t.includes('"')?`"${t}"`:`'${t.replaceAll("'","\\'")}'`}function Se(e,t,n){return`unknown ${e} ${b(t)}; allowed: ${[...n].sort().join(", ")}`}function _(e,t){if(!lt.test(t))return t==="#"?void 0:e.words.get(t);const[n,o]=e.range;return Number(t)>=n&&Number(t)<=o?e.words.get("#"):void 0}function p(e,t){return e.words.find(n=>_(T(e),n)===t)}function le(e,t,n){const o=T(e),r=i=>o.properties.indexOf(_(o,i)??""),s=e.words.filter(i=>_(o,i)!==t);return(n===null?s:[...s,n]).sort((i,d)=>r(i)-r(d))}function N(e){return e.filter(t=>p(t,"hidden")===void 0)}function*w(e){yield e;for(const t of e.children)yield*w(t)}function A(e,t){for(const n of w(e))if(n.id===t)return n}function C(e,t){for(const n of w(e))if(n.children.some(o=>o.id===t))return n}function ve(e){const[t,n]=e.range;return[...e.words.keys()].map(o=>o==="#"?`${t} to ${n}`:o).join(", ")||"no property"}function v(e){const t=T(e),{text:n,cells:o,words:r}=e,s=`${e.kind} ${e.id}`,i=r.map(c=>{const f=_(t,c);if(f===void 0)throw new u(`${s} has ${b(c)}; allowed: ${ve(t)}`);return t.properties.indexOf(f)});if(i.some((c,f)=>f>0&&c<=(i[f-1]??0)))throw new u(`${s} has ${b(r.join(" "))}; allowed: one each of ${ve(t)}`);if(n!==""&&!t.hasText||n===""&&t.needsText)throw new u(`${s} has ${n===""?"no":"a"} text; allowed: ${t.hasText?"a":"no"} text`);const[d,l]=t.cells;if(o.length<d||o.length>l||o.length>0&&t.hasText&&n==="")throw new u(`${s} has ${o.length} cells; allowed: ${d} to ${l}, behind its text if it has one`);const a=(c,f)=>new u(`${s} has the string ${b(c)}; allowed: 1 to ${f} characters without |, line ends, and spaces at the ends or side by side`);if(n!==""&&!we.label.test(n))throw a(n,32);for(const c of o)if(!we.cell.test(c))throw a(c,16);for(const c of e.children){if(!t.children.has(c.kind)){const f=[...t.children].sort().join(", ")||"nothing";throw new u(`${s} holds ${c.kind} ${c.id}; allowed: ${f}`)}if(c.kind==="record"&&c.cells.length!==o.length)throw new u(`record ${c.id} has ${c.cells.length} cells; allowed: ${o.length}, as its table`)}return e}function Me(e){if(e.kind!=="page")throw new u(`the first component is a ${e.kind}; allowed: page`);const t=new Set;for(const{id:o}of w(e)){if(!ze.has(o))throw new u(`a slot id is ${b(o)}; allowed: one or two letters from a to z`);if(t.has(o))throw new u(`two slots have the id ${b(o)}; allowed: one each`);t.add(o)}const n=Le(e);if(n>re)throw new u(`components stand ${n} levels below the page; allowed: ${re}`);return e}function Le(e){return Math.max(0,...e.children.map(t=>1+Le(t)))}function Ce(e,t){const n=1+Math.max(...[...w(e)].map(({id:o})=>ze.get(o)??0));if(n+t>M.length)throw new u(`the page has no id left for ${t} new slots; allowed: up to 'zz'`);return M.slice(n,n+t)}function se(e,t=!0){const n=[...t?[e.id]:[],e.kind,...e.words].join(" "),o=[...e.text===""?[]:[e.text],...e.cells].join(" | ");return o===""?n:`${n}: ${o}`}function S(e,{ids:t=!0,indent:n=0}={}){return[" ".repeat(n)+se(e,t),...e.children.map(o=>S(o,{ids:t,indent:n+1}))].join(`
`)}function de(e,t){const n=it.exec(e);if(n===null)throw new u("it is not a component; allowed: a slot id, a kind, its properties, a colon and a text");const[,o="",r,s="",i="",d]=n,l=d===void 0?[]:d.split(" | "),a=l.length>0&&(J.get(s)?.hasText??!1),c=v({id:r??t,kind:s,words:i.split(" ").filter(f=>f!==""),text:a?l[0]??"":"",cells:a?l.slice(1):l,children:[]});return{indent:o.length,hasId:r!==void 0,component:c}}class De{constructor(){this.path=[]}get length(){return this.path.length}add(t,n){this.complete(n),this.path.push([t,[]])}complete(t){for(;this.path.length>t;){const[n,o]=this.path.at(-1),r=o.length===0?n:v({...n,children:o});this.path.pop(),this.path.at(-1)?.[1].push(r)}}page(){this.complete(1);const[t,n]=this.path[0];return Me(v({...t,children:n}))}}function at(e){const t=e.split(`
`);if(t.length>M.length)throw new u(`the page has ${t.length} lines; allowed: ${M.length}`);const n=new De;let o=!1;return t.forEach((r,s)=>{try{const{indent:i,hasId:d,component:l}=de(r,M[s]??"");if(s===0&&(o=d),d!==o)throw new u("some lines have slot ids and some do not; allowed: ids on all of them or on none");const a=Math.min(s,1);if(i<a||i>n.length)throw new u(`it has ${i} spaces before it; allowed: ${a} to ${n.length}`);n.add(l,i)}catch(i){throw i instanceof u?new u(`line ${s+1}, ${b(r)}: ${i.message}`):i}}),n.page()}function ye(e){const t=e.split(`
`).slice(0,M.length),n=[],o=[];if(t.forEach((s,i)=>{try{const d=M[i]??"",{indent:l,component:a}=de(s,d),c=l===0?void 0:n[l-1];if(!(c===void 0?l===0&&i===0&&a.kind==="page":l<=re&&(J.get(c.kind)?.children.has(a.kind)??!1)&&(a.kind!=="record"||c.cells===a.cells.length)))return;n.splice(l,n.length,{kind:a.kind,cells:a.cells.length}),o.push({component:{...a,id:d},indent:l})}catch(d){if(!(d instanceof u))throw d}}),o.length===0)return null;const r=new De;for(const{component:s,indent:i}of o)r.add(s,i);return r.page()}const ct=["not on this screen","a screen cannot do that","more than one fits"];function Ne(e){return e.startsWith("refuse: ")&&ct.includes(e.slice(8))}function K(e,t){if(Ne(t))return e;for(const n of t.split(`
`)){const[o=""]=n.split(" ",1),r=n.slice(o.length+1);try{const s=je.get(o);if(s===void 0)throw new u(Se("operation",o,je.keys()));const i=s.form.exec(r);if(i===null)throw new u(`it is incomplete; allowed, for example: ${o} ${s.example}`);e=Me(s.run(e,...i.slice(1)))}catch(s){throw s instanceof u?new u(`${b(n)} does not fit: ${s.message}`):s}}return e}function Re(e,t){const n=e.children.flatMap(s=>Re(s,t)),r=n.length===e.children.length&&n.every((s,i)=>s===e.children[i])?e:v({...e,children:n});return t.get(e.id)?.(r)??[r]}function x(e,t,n){const[o]=Re(e,new Map([...t].map(r=>[r,n])));if(o===void 0)throw new u("the page itself cannot be deleted; allowed: slots on it");return o}function g(e,t){const n=A(e,t);if(n!==void 0)return n;const o=[...w(e)].map(r=>r.id).join(", ");throw new u(`there is no slot ${b(t)}; allowed: ${o}`)}function H(e,t){g(e,t);const n=C(e,t);if(n!==void 0)return n;throw new u("the page itself cannot be moved, copied or deleted; allowed: slots on it")}function B(e,t){const n=e.kind==="table"?e.cells.indexOf(t):-1;if(n>=0)return n;throw new u(`${e.kind} ${e.id} has no column ${b(t)}; allowed: ${e.cells.join(", ")||"a table"}`)}function V(e,t){const n=/^([a-z]{1,2})(?:(\*)(-?)([1-9]?)|([+-])([a-z]+)|\[([^\n]+) \| ([^\n]+)\])$/u.exec(t);if(n===null)return[...new Set(t.split(","))].map(m=>g(e,m));const[,o="",r,s,i,d,l="",a,c]=n,f=g(e,o);if(i){const m=N(f.children),q=Number(i);if(q>m.length)throw new u(`${f.kind} ${o} shows no ${i}; allowed: up to ${m.length}`);return s?m.slice(-q):m.slice(0,q)}if(r!==void 0)return f.children;if(a!==void 0){const m=B(f,a);return f.children.filter(q=>q.cells[m]===c)}const $=f.children.filter(m=>T(m).properties.includes(l));if($.length===0)throw new u(`nothing in ${f.kind} ${o} can be ${b(l)}; allowed: a property of what is in it`);return $.filter(m=>p(m,l)!==void 0==(d==="+"))}const U=e=>e.map(({id:t})=>t);function ft(e,t,n){return x(e,U(V(e,t)),o=>{const r=_(T(o),n);if(r===void 0){const s=[...T(o).words.keys()].join(", ");throw new u(`${o.kind} ${o.id} cannot be ${b(n)}; allowed: ${s}`)}return[v({...o,words:le(o,r,n)})]})}function ut(e,t,n){return x(e,U(V(e,t)),o=>{const r=T(o).properties;if(!r.includes(n))throw new u(`${o.kind} ${o.id} has no ${b(n)}; allowed: ${r.join(", ")}`);return[v({...o,words:le(o,n,null)})]})}function ht(e,t,n){return g(e,t),x(e,[t],o=>[v({...o,text:n})])}function ae(e,t,...n){return[...e.slice(0,t),...n,...e.slice(t+1)]}function pt(e,t,n,o){const r=B(H(e,t),n);return x(e,[t],s=>[v({...s,cells:ae(s.cells,r,o)})])}function ce(e,t,n,o){const s=t==="first"||t==="last"?g(e,n):H(e,n),i=s.children.findIndex(a=>a.id===n),d={first:0,last:s.children.length,before:i,after:i+1}[t]??0,l=[...s.children.slice(0,d),o,...s.children.slice(d)];return x(e,[s.id],a=>[v({...a,children:l})])}function $t(e,t,n,o){const{hasId:r,component:s}=de(o,Ce(e,1)[0]??"");if(r)throw new u("the new component has an id; allowed: none, it gets one");return ce(e,t,n,s)}function mt(e,t){const n=U(V(e,t));for(const o of n)H(e,o);return x(e,n,()=>[])}function gt(e,t,n,o){H(e,t);const r=g(e,t);if(A(r,o)!==void 0)throw new u(`${o} is in ${t} itself; allowed: a slot outside of it`);return g(e,o),ce(x(e,[t],()=>[]),n,o,r)}function bt(e,t,n){const[o,r]=[g(e,t),g(e,n)];if(H(e,t)!==H(e,n))throw new u(`${t} and ${n} are not in the same slot; allowed: two side by side`);return x(e,[t,n],({id:s})=>[s===t?r:o])}function wt(e,t){const n=g(e,t),o=Ce(e,[...w(n)].length)[Symbol.iterator](),r=s=>({...s,id:o.next().value??"",children:s.children.map(r)});return ce(e,"after",t,r(n))}function xe(e){const t=/^[^\p{L}\p{N}_-]*(-?\d+(?:\.\d+)?)/u.exec(e),n=e.toUpperCase().toLowerCase().replaceAll("ς","σ");return[t===null?1:0,t===null?0:Number(t[1]),n]}function vt(e,t){const[n,o]=[Array.from(e),Array.from(t)];for(let r=0;r<Math.min(n.length,o.length);r++){const s=(n[r]?.codePointAt(0)??0)-(o[r]?.codePointAt(0)??0);if(s!==0)return s}return n.length-o.length}function yt(e,t,n,o){const r=g(e,t);let s;if(r.kind==="table"){const l=B(r,o);s=a=>xe(a.cells[l]??"")}else{if(r.kind!=="list")throw new u(`${t} is a ${r.kind}; allowed: a list or a table`);if(o==="name")s=l=>xe(l.text);else if(o==="on"||o==="marked")s=l=>[p(l,o)===void 0?0:1,0,""];else throw new u(`a list cannot be sorted by ${b(o)}; allowed: name, on, marked`)}const i=n==="down"?-1:1,d=r.children.map(l=>({child:l,key:s(l)})).sort(({key:l},{key:a})=>i*(l[0]-a[0]||l[1]-a[1]||vt(l[2],a[2]))).map(({child:l})=>l);return x(e,[t],l=>[{...l,children:d}])}function xt(e,t){const n=new Set(U(V(e,t))),o=/^[a-z]+/.exec(t)?.[0]??"";return x(e,U(g(e,o).children),r=>{const s=n.has(r.id)?null:"hidden";return[v({...r,words:le(r,"hidden",s)})]})}function _e(e,t,n){return x(e,[t],o=>{const r=o.children.map(s=>v({...s,cells:n(s)}));return[v({...o,cells:n(o),children:r})]})}function kt(e,t,n,o){const r=g(e,t);if(r.kind!=="table")throw new u(`${t} is a ${r.kind}; allowed: a table`);return _e(e,t,s=>[...s.cells,s.kind==="table"?n:o])}function jt(e,t,n){const o=B(g(e,t),n);return _e(e,t,r=>ae(r.cells,o))}function At(e,t,n,o){const r=B(g(e,t),n);return x(e,[t],s=>[v({...s,cells:ae(s.cells,r,o)})])}const y="([a-z]{1,2})",E="([^\\n]+)",He="[a-z]{1,2}(?:\\*(?:-?[1-9])?|[+-][a-z]+|\\[[^\\n]+\\])",ee=`([a-z]{1,2}(?:,[a-z]{1,2})*|${He})`,ke="(first|last|before|after)",je=new Map([["set",`${ee} ([a-z]+|\\d+)`,"d red",ft],["clear",`${ee} ([a-z]+)`,"d color",ut],["text",`${y}: ${E}`,"d: Save",ht],["cell",`${y} ${E} \\| ${E}`,"r Price | 12",pt],["add",`${ke} ${y} ([^ ][^\\n]*)`,"last c checkbox: Milk",$t],["del",ee,"d,f",mt],["move",`${y} ${ke} ${y}`,"d first c",gt],["swap",`${y} ${y}`,"d e",bt],["copy",y,"d",wt],["sort",`${y} (up|down) ${E}`,"c up name",yt],["only",`(${He})`,"c-on",xt],["column",`${y} ${E} \\| ${E}`,"t Priority | low",kt],["drop",`${y} ${E}`,"t Price",jt],["head",`${y} ${E} \\| ${E}`,"t Price | Cost",At]].map(([e,t,n,o])=>[e,{form:new RegExp(`^(?:${t})$`,"u"),example:n,run:o}])),Ot=`
> `,Ae=5,Pt=.9,Et=/\b(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|\d+(?:st|nd|rd|th)|(?:number|item|task|entry) \d+)\b/i,Tt=2,hn="The model changed nothing: it is so already, or say it in other words.";class te extends Error{constructor(){super(...arguments),this.name="NotUnderstood"}}function qt(e,t,n){if(!Et.test(n)||/\bhidden\b/i.test(n))return!1;const o=new Set([...w(e)].filter(r=>p(r,"hidden")!==void 0).map(({id:r})=>r));return t.split(`
`).some(r=>{const[,s=""]=r.split(" ");return!r.endsWith(" hidden")&&s.split(",").some(i=>o.has(i))})}function pn(e,t,{page:n,program:o}){return o===null||e===null||e===t?n:K(e,o)}function ne(e){return Ve()&&p(e,"theme")===void 0?K(e,`set ${e.id} dark`):e}function $n({sfumato:e}){return e.tasks.includes("ui_screen")}async function mn(e,t,n,o={}){const{page:r=null,seed:s=0,steps:i,signal:d,onDraft:l}=o,a=n.replace(/\s+/gu," ").trim(),c=r===null?`screen: ${a}`:S(r)+Ot+a,f=performance.now(),$={model:t,prompt:c,...i===void 0?{}:{steps:i}};let m={...$,seed:s};const q=O=>({...$,seed:s+O,temperature:Pt});let[Y,me]=["",""];for(let O=1;O<=Ae;O++){const{text:k,usage:ge,reason:Fe}=await Je(e.stream({...m,every_step:!1},d),P=>{if(r!==null||l===void 0)return;const D=ye(Qe(P));D!==null&&l(ne(D),P)});if(r!==null&&Fe==="steps")throw new te("The model is not sure what that means, so nothing changed. Try other words.");if(Ne(k))throw new te(`The model declines: ${k.replace("refuse: ","")}.`);try{const P=r===null?ne(at(k)):K(r,k);if(r!==null&&qt(r,k,a))throw new u("it means what is hidden");if(r!==null&&O<Ae&&k!==me&&S(P)===S(r)){[me,m]=[k,q(O)];continue}return{page:P,program:r===null?null:k,usage:ge,ms:performance.now()-f}}catch(P){if(!(P instanceof u))throw P;Y=P.message;const D=r===null&&O>1?ye(k):null;if(D!==null&&S(D).split(`
`).length>=k.split(`
`).length-Tt)return{page:ne(D),program:null,usage:ge,ms:performance.now()-f};m=r===null?zt($,m,k,Y,s+O):q(O)}}const Xe=r===null?"no screen that can be shown":"no change that fits this screen";throw new te(`The model wrote ${Xe}; say it in other words. (${Y})`)}function zt(e,t,n,o,r){const s=Number(/^line (\d+)/.exec(o)?.[1]??0),i=n.split(`
`);if(!i[s-1]||t.text!==void 0)return{...e,seed:r};const d=i.slice(0,s-1).reduce((a,c)=>a+c.length+1,0),l=d+(i[s-1]?.length??0);return tt(t,n,nt([[d,l]],n.length),r)}const Ue=["dark","sepia","contrast"];function fe(e,t){switch(t.type){case"set":return`set ${t.slot} ${t.word}`;case"toggle":{const n=A(e,t.slot);return n===void 0?null:`${p(n,"on")===void 0?"set":"clear"} ${t.slot} on`}case"add":return ue(e,t.slot,t.text);case"remove":return`del ${t.slot}`;case"move":{const n=It(e,t.slot,t.by);return n===void 0?null:`swap ${t.slot} ${n.id}`}case"sort":return`sort ${t.slot} ${he(e,t.slot,t.by)==="up"?"down":"up"} ${t.by}`;case"filter":{const n=A(e,t.slot);return n===void 0?null:W(n,t.by)}case"theme":return Ue.includes(t.name)?`set ${e.id} ${t.name}`:`clear ${e.id} theme`;case"navigate":{const n=C(e,t.slot);return n===void 0?null:`clear ${n.id}* on
set ${t.slot} on`}case"ask":return null}}function We(e){return e.replaceAll("|","/").replace(/\s+/gu," ").trim()}function ue(e,t,n){const[o,r]=[A(e,t),We(n)];return o===void 0||r===""?null:o.kind==="table"?`add last ${t} record: ${[r,...o.cells.slice(1).map(()=>"-")].join(" | ")}`:`add last ${t} ${o.children.at(-1)?.kind??"checkbox"}: ${r}`}function It(e,t,n){const r=(C(e,t)?.children??[]).filter(s=>s.id===t||p(s,"hidden")===void 0);return r[r.findIndex(s=>s.id===t)+n]}function he(e,t,n){const o=d=>A(d,t)?.children.map(l=>l.id).join(","),r=d=>o(K(e,`sort ${t} ${d} ${n}`))===o(e),[s,i]=[r("up"),r("down")];return s===i?null:s?"up":"down"}const St=/^(?:all|any|every\w*|show all|alle)$/i,Ke=/\b(?:done|completed?|finished|checked|ticked)\b/i,Mt=/\b(?:open|active|undone|pending|unfinished|to ?do|not done|left)\b/i;function W(e,t){const{id:n}=e;if(e.children.length===0)return null;if(t===""||St.test(t))return`only ${n}*`;const o=t.toLowerCase();for(const[a,c]of e.kind==="table"?e.cells.entries():[]){const f=e.children.map($=>$.cells[a]??"").find($=>$.toLowerCase()===o);if(f!==void 0)return`only ${n}[${c} | ${f}]`}const r=e.children.some(a=>T(a).properties.includes("on"));if(r&&Mt.test(t))return`only ${n}-on`;if(r&&Ke.test(t))return`only ${n}+on`;const s=a=>[a.text,...a.cells].join(" ").toLowerCase().includes(o),[i,d]=[e.children.filter(s),e.children.filter(a=>!s(a))],l=(a,c,f)=>c.length===0?[]:[`${a} ${c.map($=>$.id).join(",")} ${f}`];return[...l("clear",i,"hidden"),...l("set",d,"hidden")].join(`
`)}function pe(e,t){const n=i=>i.kind==="list"||i.kind==="table",o=C(e,t)?.children.find(n);if(o!==void 0)return o;const r=[...w(e)],s=r.findIndex(i=>i.id===t);return r.slice(0,s).findLast(n)??r.find(n)}function Lt(e,t){const n=C(e,t)?.children??[],o=n.findIndex(r=>r.id===t);return n.slice(0,o).filter(r=>["input","select","slider"].includes(r.kind))}function Be(e,t,n){const o=A(e,t);if(o===void 0)return{};const r=o.text.toLowerCase(),s=pe(e,t),i=Lt(e,t),d=i.map(f=>f.id),l=C(e,t);if(i.length>0&&s?.kind==="table"&&!/^(?:search|find|filter)/.test(r)){const f=Rt(s,i,n);if(f!==null)return{program:f,clears:d}}if(/^(?:\+|add|new|create|insert|save|ok$)/.test(r)&&s!==void 0&&i.length<=1){const f=i[0]??[...w(e)].find(m=>m.kind==="input");if(f===void 0)return{ask:o.text};const $=ue(e,s.id,n[f.id]??"");return $===null?{say:`Type in “${f.text}” what to add`}:{program:$,clears:[f.id]}}const a=/\b(dark|light|sepia|contrast)\b/.exec(r)?.[1];if(a!==void 0){const f=p(e,"theme")===a;return{program:fe(e,{type:"theme",name:f?"light":a})??""}}if(/^(?:reset|cancel)\b/.test(r)&&d.length>0)return{clears:d};if(l?.kind==="card"&&/^(?:delete|remove|close|dismiss)$/.test(r))return{program:`del ${l.id}`};if(l?.kind==="card"&&/^(?:copy|duplicate)$/.test(r))return{program:`copy ${l.id}`};const c=s===void 0?null:Nt(s,r,i,n);return c!==null?Dt(e,c):i.length>0?{say:Ct(o,i,n)}:{ask:o.text+(l?.kind==="card"?`: ${l.text}`:"")}}function Ct(e,t,n){const o=t.find(r=>p(r,"required")!==void 0&&!n[r.id]?.trim());return o!==void 0?`Fill in “${o.text}”`:`“${e.text}” does nothing here: apps made on this page send nothing anywhere. What you typed stays.`}function Dt(e,t){try{return K(e,t),{program:t}}catch(n){if(n instanceof u)return{say:"There is nothing to do that to"};throw n}}function Nt(e,t,n,o){const r=/^(?:clear|delete|remove|empty)\b/.test(t);if(r&&Ke.test(t))return`del ${e.id}+on`;if(r&&/\b(?:all|everything|list)\b/.test(t))return`del ${e.id}*`;if(/^sort\b/.test(t)){const s=e.cells.find(i=>t.includes(i.toLowerCase()))??e.cells[0]??"name";return`sort ${e.id} up ${s}`}return/^(?:untick|uncheck|reset|clear)\b/.test(t)?`clear ${e.id}* on`:/^(?:tick|check|complete|finish|mark)\b.*\ball\b/.test(t)?`set ${e.id}* on`:/^(?:search|find|filter)\b/.test(t)&&n[0]!==void 0?W(e,o[n[0].id]??""):/^(?:show|only|view)?\s*(?:all|open|active|done|completed)$/.test(t)?W(e,t.replace(/^(?:show|only|view)\s*/,"")):null}function Rt(e,t,n){const o=e.cells.map(s=>s.toLowerCase());if(!t.every(s=>o.includes(s.text.toLowerCase())))return null;const r=o.map(s=>{const i=t.find(d=>d.text.toLowerCase()===s);return(i===void 0?"":We(n[i.id]??""))||"-"});return r.every(s=>s==="-")?null:`add last ${e.id} record: ${r.join(" | ")}`}function _t(e,t,n){const o=A(e,t),r=C(e,t)?.children??[],s=r.slice(r.findIndex(l=>l.id===t)).find(l=>l.kind==="button"),i=pe(e,t);if(o!==void 0&&i!==void 0&&p(o,"type")==="search")return{program:W(i,n[t]??"")??""};if(s!==void 0)return Be(e,s.id,n);const d=i===void 0?null:ue(e,i.id,n[t]??"");return d===null?{}:{program:d,clears:[t]}}function Ht(e,t,n){const o=A(e,t);if(o===void 0)return{};const r=n.toLowerCase();if(Ue.includes(r)||r==="light")return{program:fe(e,{type:"theme",name:r})??""};const s=pe(e,t);if(s===void 0)return{};if(/\b(?:sort|order)/i.test(o.text)){const l=s.cells.find(a=>a.toLowerCase()===r)??(s.kind==="list"?"name":null);return l===null?{}:{program:`sort ${s.id} up ${l}`}}const i=W(s,n),d=i?.startsWith("set ")===!0&&!i.includes(`
`);return i===null||d?{}:{program:i}}const Oe=3,Pe=2;function j({kind:e,text:t,cells:n}){const o=t||(e==="record"?n[0]??"":"");return o===""?`the ${e}`:`“${o}”`}function Ut(e,t,n){switch(t){case"on":return e.kind==="tab"?n===void 0?null:"opened":n===void 0?"unticked":"ticked";case"hidden":return n===void 0?"showed":"hid";case"marked":return n===void 0?"unmarked":"marked";case"value":return`set to ${n??0}:`;case"theme":return`${n??"light"} theme for`;default:return n===void 0?`no ${t} any more:`:`made ${n}:`}}class Wt{constructor(){this.named=new Map}add(t,n){this.named.set(t,[...this.named.get(t)??[],n])}words(){const t=[...this.named].map(([o,r])=>{const s=r.length-Pe,i=s>1?r.slice(0,Pe):r;return`${o} ${i.join(", ")}${s>1?` and ${s} more`:""}`}),n=t.length-Oe;return t.slice(0,Oe).join("; ")+(n>0?`; and ${n} more changes`:"")}}function Ee(e,t){const n=new Wt,[o,r]=[Te(e),Te(t)];for(const[s,{component:i,holder:d}]of o)!r.has(s)&&(d===null||r.has(d))&&n.add("removed",j(i));for(const[s,{component:i,holder:d}]of r){const l=o.get(s);if(l===void 0){(d===null||o.has(d))&&n.add("added",j(i));continue}if(l.holder!==d&&n.add("moved",j(i)),Kt(l.component,i,n),Gt(l.component,i,t,n),l.component.cells.join("|")!==i.cells.join("|")){const a=d===null?void 0:r.get(d)?.component,c=d===null?void 0:o.get(d)?.component;a?.cells.length===c?.cells.length&&Bt(l.component,i,a,n)}}return n.words()}function Te(e){const t=new Map([[e.id,{component:e,holder:null}]]);for(const n of w(e))for(const o of n.children)t.set(o.id,{component:o,holder:n.id});return t}function Kt(e,t,n){e.kind!==t.kind?n.add("replaced",j(e)):e.text!==t.text&&n.add(`renamed ${j(e)} to`,j(t));const o=new Set([e,t].flatMap(r=>r.words.map(s=>_(T(r),s)??"")));for(const r of o){const s=p(t,r);if(p(e,r)===s)continue;const i=Ut(t,r,s);i!==null&&n.add(i,t.kind==="page"?"the screen":j(t))}}function Bt(e,t,n,o){const[r]=t.cells.filter(i=>!e.cells.includes(i)),[s]=e.cells.filter(i=>!t.cells.includes(i));t.kind==="record"?t.cells.forEach((i,d)=>{i!==e.cells[d]&&o.add(`${n?.cells[d]??""} is now ${i}:`,j(e))}):t.kind!=="table"?o.add("changed",j(t)):r!==void 0&&s!==void 0?o.add(`renamed the column “${s}” to`,`“${r}”`):o.add(`${s===void 0?"added":"removed"} the column`,`“${r??s??""}”`)}function Gt(e,t,n,o){const r=(a,c)=>a.children.filter(({id:f})=>c.children.some($=>$.id===f)),[s,i]=[r(e,t),r(t,e)],d=a=>a.map(({id:c})=>c).join(",");if(d(s)===d(i))return;const l=i.filter(a=>{const c=f=>d(f.filter(({id:$})=>$!==a.id));return c(s)===c(i)});if(l.length===0){const c=(t.kind==="table"?t.cells:t.kind==="list"?["name"]:[]).find(f=>he(n,t.id,f)!==null);o.add(c===void 0?"put in another order:":`sorted by ${c}:`,j(t))}for(const a of l)o.add(l.length>1?"swapped":"moved",j(a))}function Xt(e,t){const n=o=>S(o).replace(/^( *[a-z]+ checkbox) on/gm,"$1");return S(e)!==S(t)&&n(e)===n(t)}function gn(e){const t=[];return e.forEach(({page:n,said:o,ms:r},s)=>{const i=(r??0)>0?void 0:e[s-1]?.page,d=i!==void 0&&Xt(i,n),l=t.at(-1),a=e[(l?.first??0)-1];if(d&&l?.isTicks===!0&&a!==void 0){const f=Ee(a.page,n)||"ticked and unticked again";t.splice(-1,1,{...l,last:s,said:f});return}const c=i===void 0?"":Ee(i,n);t.push({said:c||o,first:s,last:s,isTicks:d})}),t}const[$e,Ge,R]=[320,150,122];function Ft(e){return e.cells.map(t=>{const n=/^(.*?)[ :]*(-?\d+(?:\.\d+)?)\D*$/u.exec(t);return{label:(n?.[1]??t)||t,value:n===null?0:Number(n[2])}})}function Jt(e){const t=Ft(e),n=p(e,"type")??"bar",o=t.map(({label:s,value:i})=>`${s} ${i}`).join(", ")||"no values yet",r=t.length===0?Qt():n==="pie"?Yt(t):Vt(t,n==="line");return h`<svg
    viewBox="0 0 ${$e} ${Ge}"
    role="img"
    aria-label="${e.text}, ${n} chart: ${o}"
  >
    ${r}
  </svg>`}function Qt(){return I`<path class="axis" d="M20 ${R}H300"></path>
    <text x=${$e/2} y=${Ge/2} text-anchor="middle">no values yet</text>`}function Vt(e,t){const n=Math.max(...e.map(({value:i})=>i),1),o=($e-40)/e.length,r=e.map(({label:i,value:d},l)=>({label:i,value:d,x:20+o*(l+.5),y:R-Math.max(0,d)/n*(R-24)})),s=I`<polyline class="line" points=${r.map(({x:i,y:d})=>`${i},${d}`).join(" ")}></polyline>`;return I`<path class="axis" d="M20 ${R}H300"></path>
    ${t?s:null}
    ${r.map(({label:i,value:d,x:l,y:a})=>{const c=Math.min(48,o*.6),f=t?I`<circle class="fill" cx=${l} cy=${a} r="4"></circle>`:I`<rect class="fill" x=${l-c/2} y=${a} width=${c} height=${R-a} rx="3"></rect>`;return I`${f}<text x=${l} y=${a-7} text-anchor="middle">${d}</text>
        <text x=${l} y=${R+18} text-anchor="middle">${i}</text>`})}`}function Yt(e){const t=e.reduce((o,{value:r})=>o+Math.max(0,r),0)||1;let n=0;return I`${e.map(({label:o,value:r},s)=>{const i=100*Math.max(0,r)/t,d=n;return n+=i,I`<circle class="slice" style="--n: ${s}" cx="80" cy="75" r="31" pathLength="100"
        stroke-dasharray="${i} ${100-i}" stroke-dashoffset=${-d}></circle>
      <rect class="key" style="--n: ${s}" x="165" y=${22+s*24} width="12" height="12" rx="3"></rect>
      <text x="184" y=${32+s*24}>${o} ${r}</text>`})}`}const Zt=qe`
  .page {
    --red: light-dark(#b3261e, #ff9d94);
    --orange: light-dark(#a8480b, #f5a974);
    --yellow: light-dark(#7a5b00, #e6c65c);
    --green: light-dark(#1b7045, #74d6a4);
    --blue: light-dark(#1d5fbf, #8fbcff);
    --purple: light-dark(#6b3fb0, #c4aef5);
    --pink: light-dark(#b0286f, #f5a3cd);
    --grey: light-dark(#5f5b68, #b5aec2);
    --black: light-dark(#17141c, #000000);
    --white: #ffffff;
    --page: light-dark(#ffffff, #17151d);
    --raised: light-dark(#f6f3f9, #211e2a);
    --ink: light-dark(#211d2b, #ece8f3);
    --soft: light-dark(#625b70, #aaa2ba);
    --edge: light-dark(#ddd7e4, #383246);
    --edge-strong: light-dark(#8f879e, #776e8a);
    --key: light-dark(#5b3fa0, #c4aef5);
    --on-color: light-dark(#ffffff, #17151d);
    --chip: light-dark(#4a4458, #cfc8da);
  }
  .theme-light {
    color-scheme: light;
  }
  .theme-dark {
    color-scheme: dark;
  }
  .theme-sepia {
    --page: #f6ecd9;
    --raised: #efe2c9;
    --ink: #3b2b17;
    --soft: #6a573d;
    --edge: #dccbab;
    --edge-strong: #8d7a5c;
    --key: #7d4a14;
    --yellow: #6b4f00;
    --orange: #963f08;
    --green: #17613c;
    --on-color: #fffaf0;
    color-scheme: light;
  }
  .theme-contrast {
    --red: #ff8a80;
    --orange: #ffb26b;
    --yellow: #ffe45c;
    --green: #6dffa8;
    --blue: #8ec5ff;
    --purple: #d9c2ff;
    --pink: #ff9fd2;
    --grey: #d0d0d0;
    --black: #000000;
    --page: #000000;
    --raised: #000000;
    --ink: #ffffff;
    --soft: #ffffff;
    --edge: #ffffff;
    --edge-strong: #ffffff;
    --key: #ffe45c;
    --on-color: #000000;
    --chip: #d0d0d0;
    color-scheme: dark;
  }
  .c-red {
    --c: var(--red);
  }
  .c-orange {
    --c: var(--orange);
  }
  .c-yellow {
    --c: var(--yellow);
  }
  .c-green {
    --c: var(--green);
  }
  .c-blue {
    --c: var(--blue);
  }
  .c-purple {
    --c: var(--purple);
  }
  .c-pink {
    --c: var(--pink);
  }
  .c-grey {
    --c: var(--grey);
  }
  .c-black {
    --c: var(--black);
    --on: #ffffff;
  }
  .c-white {
    --c: var(--white);
    --on: #17141c;
  }
  /* Letters as bright as the page stand on a ground of their own. */
  :is(.c-white, .c-black):is(.header, .text, .checkbox):not(li) {
    border-radius: 6px;
    padding-inline: 0.4rem;
    margin-inline: -0.4rem;
  }
  .c-white:is(.header, .text, .item, .checkbox) {
    background: light-dark(var(--chip), var(--ground));
  }
  .c-black:is(.header, .text, .item, .checkbox) {
    background: light-dark(var(--ground), var(--chip));
  }
`,en=qe`
  :host {
    display: grid;
  }
  .page {
    /* What controls of ours take their colours from. */
    --surface: var(--page);
    --surface-2: var(--raised);
    --text: var(--ink);
    --muted: var(--soft);
    --line: var(--edge);
    --line-strong: var(--edge-strong);
    --accent: var(--key);
    background: var(--page);
    color: var(--ink);
    padding: clamp(0.9rem, 3vw, 1.75rem);
    display: grid;
    gap: 0.9rem;
    align-content: start;
    container-type: inline-size;
    transition:
      background-color calc(var(--motion) * 160ms),
      color calc(var(--motion) * 160ms);
  }
  .slot {
    min-width: 0;
    --ground: transparent;
  }
  .changed {
    animation: changed calc(var(--motion) * 900ms) ease-out;
  }
  @keyframes changed {
    from {
      background: color-mix(in oklab, var(--key) 28%, transparent);
    }
  }
  h2,
  h3,
  p {
    margin: 0;
    overflow-wrap: anywhere;
  }
  h2 {
    font-size: 1.4rem;
    letter-spacing: -0.01em;
  }
  h3 {
    font-size: 1rem;
    margin-bottom: 0.4rem;
  }
  .small:is(.header) h2 {
    font-size: 1.1rem;
  }
  .large:is(.header) h2 {
    font-size: 2rem;
  }
  .small:is(.text, .button) > * {
    font-size: 0.85rem;
  }
  .large:is(.text, .button) > * {
    font-size: 1.3rem;
  }
  .center {
    text-align: center;
  }
  .right {
    text-align: right;
  }
  .bold {
    font-weight: 700;
  }
  .coloured:is(.header, .text, .item, .checkbox) {
    color: var(--c);
  }
  .checkbox.coloured input {
    accent-color: var(--c);
  }
  .button.coloured > button,
  .badge.coloured > span {
    background: var(--c);
    border-color: var(--c);
    color: var(--on, var(--on-color));
  }
  .button.c-white > button,
  .badge.c-white > span {
    border-color: var(--line-strong);
  }
  .badge > span {
    display: inline-block;
    background: var(--raised);
    border: 1px solid var(--line);
    border-radius: 99px;
    padding: 0.05rem 0.7rem;
    font-size: 0.85rem;
  }
  .marked {
    --ground: color-mix(in oklab, var(--yellow) 22%, transparent);
    background: var(--ground);
    border-radius: 6px;
  }
  ul,
  ol {
    margin: 0;
    padding: 0;
    display: grid;
    gap: 0.1rem;
  }
  ul {
    list-style: none;
  }
  ul > .item .says::before {
    content: "•" / "";
    margin-right: 0.6rem;
    color: var(--soft);
  }
  ol {
    counter-reset: entry;
    list-style: none;
  }
  ol > li::before {
    counter-increment: entry;
    content: counter(entry) ".";
    min-width: 1.6rem;
    font-variant-numeric: tabular-nums;
    color: var(--soft);
  }
  li {
    display: flex;
    align-items: center;
    gap: 0.4rem;
    padding: 0.15rem 0.4rem;
    border-radius: 6px;
    overflow-wrap: anywhere;
  }
  .says {
    flex: 1;
    text-align: left;
  }
  button.says {
    padding: 0.1rem 0.3rem;
  }
  button.says:hover {
    text-decoration: underline;
  }
  .check {
    flex: 1;
    font-size: 1rem;
    gap: 0.6rem;
    cursor: pointer;
  }
  .check input {
    width: 1.1rem;
    height: 1.1rem;
    flex: none;
  }
  li .check input:checked + .says {
    text-decoration: line-through;
    text-decoration-color: color-mix(in oklab, currentcolor 60%, transparent);
  }
  .remove {
    padding: 0 0.5rem;
    line-height: 1.5;
    opacity: 0;
    color: var(--soft);
  }
  :is(li, tr):is(:hover, :focus-within) .remove {
    opacity: 1;
  }
  @media (hover: none) {
    .remove {
      opacity: 1;
    }
  }
  .hidden-note {
    color: var(--soft);
    font-size: 0.875rem;
    padding: 0.2rem 0.4rem;
  }
  .hidden-note button {
    text-decoration: underline;
    padding: 0.1rem 0.3rem;
  }
  .row {
    display: flex;
    flex-wrap: wrap;
    gap: 0.75rem;
    align-items: end;
  }
  .row > .card {
    flex: 1 1 12rem;
    align-self: stretch;
  }
  .row > :is(.input, .column, .slider, .progress, .chart) {
    flex: 1 1 10rem;
  }
  .row > .checkbox {
    align-self: center;
  }
  .column,
  .card {
    display: grid;
    gap: 0.6rem;
    align-content: start;
  }
  .card {
    background: var(--raised);
    border: 1px solid var(--line);
    border-radius: 12px;
    padding: 0.9rem 1rem;
  }
  .card h3 {
    margin: 0;
  }
  .card.coloured {
    border-color: var(--c);
    border-left-width: 5px;
  }
  .card.marked {
    outline: 2px solid var(--yellow);
  }
  .scroll {
    overflow-x: auto;
  }
  table {
    border-collapse: collapse;
    width: 100%;
  }
  th,
  td {
    text-align: left;
    padding: 0.4rem 0.6rem;
    border-bottom: 1px solid var(--line);
  }
  th button {
    padding: 0.1rem 0;
    font-weight: 650;
    white-space: nowrap;
  }
  td.number {
    font-variant-numeric: tabular-nums;
  }
  td .remove {
    float: right;
  }
  [role="tablist"] {
    display: flex;
    flex-wrap: wrap;
    gap: 0.2rem;
    border-bottom: 1px solid var(--line);
  }
  [role="tab"] {
    border-radius: 8px 8px 0 0;
    border-bottom: 2px solid transparent;
    color: var(--soft);
  }
  [role="tab"][aria-selected="true"] {
    color: var(--key);
    border-bottom-color: var(--key);
    font-weight: 600;
  }
  [role="tabpanel"] {
    display: grid;
    gap: 0.75rem;
    padding: 0.9rem 0.1rem 0;
    min-height: 2.5rem;
  }
  .input > label > :is(input, textarea),
  .select select {
    width: 100%;
  }
  progress {
    width: 100%;
    height: 0.6rem;
    accent-color: var(--c, var(--key));
  }
  .slider input {
    width: 100%;
  }
  .chart svg {
    width: 100%;
    max-width: 32rem;
    height: auto;
  }
  .axis,
  .line {
    fill: none;
    stroke: var(--edge-strong);
  }
  .line {
    stroke: var(--c, var(--key));
    stroke-width: 2.5;
    stroke-linejoin: round;
  }
  .fill {
    fill: var(--c, var(--key));
  }
  .slice {
    fill: none;
    stroke-width: 62;
    stroke: color-mix(in oklab, var(--c, var(--key)) calc(100% - var(--n) * 19%), var(--page));
  }
  .key {
    fill: color-mix(in oklab, var(--c, var(--key)) calc(100% - var(--n) * 19%), var(--page));
  }
  svg text {
    fill: var(--ink);
    font-size: 11px;
  }
  .picture {
    width: min(100%, 22rem);
    aspect-ratio: 16 / 10;
    border-radius: 10px;
    display: inline-grid;
    place-items: center;
    padding: 0.5rem;
    color: var(--soft);
    background:
      radial-gradient(circle at 30% 25%, color-mix(in oklab, var(--key) 22%, transparent), transparent 55%),
      radial-gradient(
        circle at 75% 70%,
        color-mix(in oklab, var(--orange) 20%, transparent),
        transparent 55%
      ),
      var(--raised);
    border: 1px dashed var(--edge-strong);
  }
  .image.small .picture {
    width: min(100%, 10rem);
  }
  .image.large .picture {
    width: 100%;
  }
  /* A log takes what room there is, however long it is. */
  .page:has(> .text > pre) {
    grid-template-rows: minmax(10rem, 1fr);
    align-content: stretch;
  }
  .text:has(pre) {
    display: grid;
  }
  pre {
    contain: size;
    margin: 0;
    overflow: auto;
    white-space: pre-wrap;
    overflow-wrap: anywhere;
    font: 0.875rem/1.5 var(--mono);
  }
  textarea {
    resize: vertical;
    font: 0.9rem/1.5 var(--mono);
  }
  hr {
    border: 0;
    border-top: 1px solid var(--line);
    margin: 0.2rem 0;
  }
`,tn=[Zt,en];var nn=Object.defineProperty,rn=Object.getOwnPropertyDescriptor,G=(e,t,n,o)=>{for(var r=o>1?void 0:o?rn(t,n):t,s=e.length-1,i;s>=0;s--)(i=e[s])&&(r=(o?i(t,n,r):i(r))||r);return o&&r&&nn(t,n,r),r};const on={up:"ascending",down:"descending"};let L=class extends Ze{constructor(){super(...arguments),this.page=null,this.bound={},this.draft=!1,this.theme="light",this.changed=new Set,this.deleted=null}willUpdate(e){if(!e.has("page"))return;const t=e.get("page"),n=new Map(t?[...w(t)].map(r=>[r.id,se(r)]):[]),o=this.page===null||n.size===0||this.draft?[]:[...w(this.page)];this.changed=new Set(o.filter(r=>n.get(r.id)!==se(r)).map(({id:r})=>r))}render(){const e=this.page;if(e===null)return z;const t=e.children.some(n=>n.kind==="header");return h`<section
      class="page theme-${p(e,"theme")??this.theme}"
      data-slot=${e.id}
      aria-label=${e.text===""?"Screen":e.text}
      ?inert=${this.draft}
    >
      ${e.text===""||t?z:h`<h2>${e.text}</h2>`} ${this.inside(e)}
    </section>`}inside(e){const t=N(e.children);return F(t,n=>n.id,n=>h`<div class=${this.classes(n)} data-slot=${n.id}>${this.body(n)}</div>`)}classes(e){const t=p(e,"color");return["slot",e.kind,...e.words.filter(n=>n!==t&&!/^\d/.test(n)),...t===void 0?[]:["coloured",`c-${t}`],...this.changed.has(e.id)?["changed"]:[]].join(" ")}body(e){switch(e.kind){case"header":return h`<h2>${e.text}</h2>`;case"text":return this.text(e);case"badge":return h`<span>${e.text}</span>`;case"divider":return h`<hr />`;case"button":return h`<button
          ?disabled=${p(e,"disabled")!==void 0}
          @click=${()=>{this.clicked(e.id,"press")&&this.effect(Be(this.shown(),e.id,this.values()))}}
        >
          ${e.text}
        </button>`;case"list":return this.list(e);case"checkbox":return this.checkbox(e);case"input":return this.input(e);case"select":return this.select(e);case"slider":return this.slider(e);case"progress":return h`<label
          ><span>${e.text} <span class="figures">${p(e,"value")??0}%</span></span>
          <progress max="100" value=${p(e,"value")??0}></progress
        ></label>`;case"table":return this.table(e);case"tabs":return this.tabs(e);case"chart":return h`<h3>${e.text}</h3>
          ${Jt(e)}`;case"image":return this.image(e);case"card":return h`${e.text===""?z:h`<h3>${e.text}</h3>`}${this.inside(e)}`;default:return this.inside(e)}}text(e){const{value:t}=this.bound[e.id]??{};return t===void 0?h`<p>${e.text}</p>`:h`<pre role="log" aria-label=${e.text} tabindex="0">${t}</pre>`}list(e){const t=N(e.children),n=F(t,o=>o.id,o=>h`<li
          class=${this.classes(o)}
          data-slot=${o.id}
          @keydown=${r=>this.onEntryKey(r,o.id)}
        >
          ${o.kind==="checkbox"?this.checkbox(o):this.item(o)}
          ${this.removal(o,o.text)}
        </li>`);return h`${e.text===""?z:h`<h3>${e.text}</h3>`}
    ${p(e,"numbered")===void 0?h`<ul>
            ${n}
          </ul>`:h`<ol>
            ${n}
          </ol>`}
    ${this.hiddenNote(e)}`}item({id:e,text:t}){return this.bound[e]?.opens!==!0?h`<span class="says">${t}</span>`:h`<button class="quiet says" @click=${()=>this.clicked(e,"open",t)}>${t}</button>`}removal({id:e},t){return h`<button
      class="quiet remove"
      aria-label="Delete ${t}"
      @click=${()=>this.act({type:"remove",slot:e})}
    >
      ×
    </button>`}hiddenNote(e){const t=e.children.length-N(e.children).length;return t===0?z:h`<p class="hidden-note">
      ${t} hidden
      <button class="quiet" @click=${()=>this.act({type:"filter",slot:e.id,by:"all"})}>
        Show all
      </button>
    </p>`}checkbox(e){return h`<label class="inline check"
      ><input
        type="checkbox"
        .checked=${X(p(e,"on")!==void 0)}
        @change=${()=>this.act({type:"toggle",slot:e.id})}
      /><span class="says">${e.text}</span></label
    >`}input(e){const{value:t,isLong:n=!1,isReadonly:o=!1}=this.bound[e.id]??{},r=i=>{t!==void 0&&this.clicked(e.id,"input",i.target.value)},s=i=>{if(i.key!=="Enter"||i.isComposing)return;const d=i.target;t!==void 0?r(i):this.clicked(e.id,"enter",d.value)?this.effect(_t(this.shown(),e.id,this.values())):d.value=""};return h`<label
      ><span>${e.text}${p(e,"required")===void 0?"":" *"}</span>
      ${n?h`<textarea
              data-field=${e.id}
              rows="12"
              spellcheck="false"
              ?readonly=${o}
              .value=${X(t??"")}
              @input=${r}
            ></textarea>`:h`<input
              data-field=${e.id}
              type=${p(e,"type")??"text"}
              autocomplete="off"
              ?required=${p(e,"required")!==void 0}
              ?disabled=${p(e,"disabled")!==void 0}
              .value=${t===void 0?z:X(t)}
              @change=${r}
              @keydown=${s}
            />`}
    </label>`}select(e){const{value:t,options:n=e.cells}=this.bound[e.id]??{};return h`<label
      ><span>${e.text}</span>
      <select
        data-field=${e.id}
        ?disabled=${p(e,"disabled")!==void 0}
        @change=${o=>{const r=o.target.value;this.clicked(e.id,"choose",r)&&this.effect(Ht(this.shown(),e.id,r))}}
      >
        ${n.map(o=>t===void 0?h`<option>${o}</option>`:h`<option .selected=${o===t}>${o}</option>`)}
      </select></label
    >`}slider(e){const t=p(e,"value")??"50";return h`<label
      ><span>${e.text} <span class="figures">${t}</span></span>
      <input
        data-field=${e.id}
        type="range"
        min="0"
        max="100"
        .value=${X(t)}
        ?disabled=${p(e,"disabled")!==void 0}
        @change=${n=>this.act({type:"set",slot:e.id,word:n.target.value})}
    /></label>`}table(e){const t=N(e.children),n=F(t,r=>r.id,r=>h`<tr
          class=${this.classes(r)}
          data-slot=${r.id}
          @keydown=${s=>this.onEntryKey(s,r.id)}
        >
          ${r.cells.map((s,i)=>h`<td class=${/^-?\d/.test(s)?"number":""}>
                ${s}${i===r.cells.length-1?this.removal(r,r.cells[0]??""):z}
              </td>`)}
        </tr>`),o=e.cells.map(r=>{const s=this.draft?null:he(this.shown(),e.id,r);return h`<th scope="col" aria-sort=${s===null?"none":on[s]}>
        <button class="quiet" @click=${()=>this.act({type:"sort",slot:e.id,by:r})}>
          ${r}<span aria-hidden="true">${s===null?"":s==="up"?" ↑":" ↓"}</span>
        </button>
      </th>`});return h`<div class="scroll" tabindex="0" role="region" aria-label=${e.cells.join(", ")}>
        <table>
          <thead>
            <tr>
              ${o}
            </tr>
          </thead>
          <tbody>
            ${n}
          </tbody>
        </table>
      </div>
      ${this.hiddenNote(e)}`}tabs(e){const t=N(e.children),n=t.find(r=>p(r,"on")!==void 0)??t[0];return n===void 0?z:h`<div role="tablist" @keydown=${r=>{const s={ArrowRight:1,ArrowLeft:-1}[r.key],i=s===void 0?void 0:t[(t.indexOf(n)+s+t.length)%t.length];i!==void 0&&(r.preventDefault(),this.act({type:"navigate",slot:i.id}),this.updateComplete.then(()=>this.renderRoot.querySelector(`#tab-${i.id}`)?.focus()))}}>
        ${F(t,r=>r.id,r=>h`<button
              class="quiet"
              role="tab"
              id="tab-${r.id}"
              data-slot=${r.id}
              aria-selected=${String(r===n)}
              aria-controls="panel-${e.id}"
              tabindex=${r===n?0:-1}
              @click=${()=>this.act({type:"navigate",slot:r.id})}
            >
              ${r.text}
            </button>`)}
      </div>
      <div role="tabpanel" id="panel-${e.id}" aria-labelledby="tab-${n.id}" tabindex="0">
        ${this.inside(n)}
      </div>`}image(e){return h`<div class="picture" role="img" aria-label="Place of a picture: ${e.text}">
      <span aria-hidden="true">${e.text}</span>
    </div>`}onEntryKey(e,t){const n=e.altKey?{ArrowUp:-1,ArrowDown:1}[e.key]:void 0;if(e.key==="Delete")this.act({type:"remove",slot:t});else if(n!==void 0)this.act({type:"move",slot:t,by:n});else return;e.preventDefault()}shown(){if(this.page===null)throw new Error("there is no page");return this.page}values(){const e=[...this.renderRoot.querySelectorAll("[data-field]")];return Object.fromEntries(e.map(t=>[t.dataset.field??"",t.value]))}clicked(e,t,n=""){const o={element:e,type:t,value:n};return this.dispatchEvent(new CustomEvent("sf-click",{detail:o,bubbles:!0,composed:!0,cancelable:!0}))}act(e){const t="by"in e?String(e.by):"word"in e?e.word:"";if(!this.clicked(e.slot,e.type,t))return;e.type==="remove"&&this.noteDeleted(e.slot);const n=fe(this.shown(),e);n!==null&&this.effect({program:n})}noteDeleted(e){const t=this.shadowRoot?.activeElement?.closest(`[data-slot="${e}"]`),n=[...this.renderRoot.querySelectorAll(".remove")];t&&(this.deleted={id:e,place:n.findIndex(o=>t.contains(o))})}updated(){const{deleted:e,page:t}=this;e!==null&&t!==null&&A(t,e.id)===void 0&&(this.deleted=null,rt(this.renderRoot,".remove",e.place));for(const n of this.renderRoot.querySelectorAll("pre"))n.scrollTop=n.scrollHeight}effect(e){for(const t of e.clears??[]){const n=this.renderRoot.querySelector(`[data-field="${t}"]`);n!==null&&n.type!=="range"&&(n.value="")}this.dispatchEvent(new CustomEvent("sf-effect",{detail:e,bubbles:!0,composed:!0})),this.requestUpdate()}};L.styles=[Ye,tn];G([Q({attribute:!1})],L.prototype,"page",2);G([Q({attribute:!1})],L.prototype,"bound",2);G([Q({type:Boolean})],L.prototype,"draft",2);G([Q()],L.prototype,"theme",2);L=G([et("sf-screen")],L);export{te as N,u as P,hn as U,Me as a,mn as b,Ee as c,K as e,p as g,gn as h,$n as i,Ce as n,pn as o,at as p,A as s,S as t,N as v,w};
