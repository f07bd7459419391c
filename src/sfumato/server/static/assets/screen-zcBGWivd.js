import{a as Ze}from"./answer-CmCAoLup.js";import{t as et}from"./canvas-BqwZnn-S.js";import{h as tt,d as h,G as z,i as ze,e as nt,o as V,r as rt,g as st,A as P,C as ot}from"./index-CEzs3kuH.js";import{a as it,o as lt}from"./take-R79uc_On.js";import{l as X}from"./live-CC_MiLVx.js";import{c as J}from"./repeat-rq4MIl0J.js";import{f as dt}from"./focus-BpYcMQ1a.js";const at={id:{type:"string",pattern:"^[a-z]{1,2}$",description:"Of a slot: unique within a page."},label:{type:"string",pattern:"^[^\\u0000-\\u0020\\u007f-\\u00a0\\u2028\\u2029\\ufffd|](?: ?[^\\u0000-\\u0020\\u007f-\\u00a0\\u2028\\u2029\\ufffd|]){0,31}$"},cell:{type:"string",pattern:"^[^\\u0000-\\u0020\\u007f-\\u00a0\\u2028\\u2029\\ufffd|](?: ?[^\\u0000-\\u0020\\u007f-\\u00a0\\u2028\\u2029\\ufffd|]){0,15}$"},color:{enum:["red","orange","yellow","green","blue","purple","pink","grey","black","white"]},block:{oneOf:[{$ref:"#/$defs/header"},{$ref:"#/$defs/text"},{$ref:"#/$defs/button"},{$ref:"#/$defs/list"},{$ref:"#/$defs/input"},{$ref:"#/$defs/table"},{$ref:"#/$defs/column"},{$ref:"#/$defs/row"},{$ref:"#/$defs/card"},{$ref:"#/$defs/image"},{$ref:"#/$defs/tabs"},{$ref:"#/$defs/chart"},{$ref:"#/$defs/progress"},{$ref:"#/$defs/badge"},{$ref:"#/$defs/select"},{$ref:"#/$defs/slider"},{$ref:"#/$defs/checkbox"},{$ref:"#/$defs/divider"}]},leaf:{oneOf:[{$ref:"#/$defs/header"},{$ref:"#/$defs/text"},{$ref:"#/$defs/button"},{$ref:"#/$defs/list"},{$ref:"#/$defs/input"},{$ref:"#/$defs/image"},{$ref:"#/$defs/chart"},{$ref:"#/$defs/progress"},{$ref:"#/$defs/badge"},{$ref:"#/$defs/select"},{$ref:"#/$defs/slider"},{$ref:"#/$defs/checkbox"},{$ref:"#/$defs/divider"}]},page:{description:"A whole screen.",type:"object",properties:{component:{const:"page"},id:{$ref:"#/$defs/id"},theme:{enum:["dark","sepia","contrast"]},text:{$ref:"#/$defs/label"},children:{type:"array",items:{$ref:"#/$defs/block"}}},required:["component","id"],additionalProperties:!1},header:{description:"A title.",type:"object",properties:{component:{const:"header"},id:{$ref:"#/$defs/id"},color:{$ref:"#/$defs/color"},size:{enum:["small","large"]},align:{enum:["center","right"]},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},text:{description:"A line of text.",type:"object",properties:{component:{const:"text"},id:{$ref:"#/$defs/id"},color:{$ref:"#/$defs/color"},size:{enum:["small","large"]},align:{enum:["center","right"]},bold:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},button:{description:"A button.",type:"object",properties:{component:{const:"button"},id:{$ref:"#/$defs/id"},color:{$ref:"#/$defs/color"},size:{enum:["small","large"]},disabled:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},list:{description:"Items or checkboxes, one below the other.",type:"object",properties:{component:{const:"list"},id:{$ref:"#/$defs/id"},numbered:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"},children:{type:"array",items:{oneOf:[{$ref:"#/$defs/item"},{$ref:"#/$defs/checkbox"}]}}},required:["component","id"],additionalProperties:!1},item:{description:"An entry of a list.",type:"object",properties:{component:{const:"item"},id:{$ref:"#/$defs/id"},color:{$ref:"#/$defs/color"},marked:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},checkbox:{description:"Something that is done or not, in a list or alone.",type:"object",properties:{component:{const:"checkbox"},id:{$ref:"#/$defs/id"},on:{const:!0},color:{$ref:"#/$defs/color"},marked:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},input:{description:"A field to type in.",type:"object",properties:{component:{const:"input"},id:{$ref:"#/$defs/id"},type:{enum:["email","number","date","time","password","search"]},required:{const:!0},disabled:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},table:{description:"Records under the names of their columns.",type:"object",properties:{component:{const:"table"},id:{$ref:"#/$defs/id"},hidden:{const:!0},cells:{type:"array",items:{$ref:"#/$defs/cell"},minItems:1,maxItems:5},children:{type:"array",items:{oneOf:[{$ref:"#/$defs/record"}]}}},required:["component","id","cells"],additionalProperties:!1},record:{description:"A row of a table: a cell for each column.",type:"object",properties:{component:{const:"record"},id:{$ref:"#/$defs/id"},marked:{const:!0},hidden:{const:!0},cells:{type:"array",items:{$ref:"#/$defs/cell"},minItems:1,maxItems:5}},required:["component","id","cells"],additionalProperties:!1},column:{description:"Components, one below the other.",type:"object",properties:{component:{const:"column"},id:{$ref:"#/$defs/id"},hidden:{const:!0},children:{type:"array",items:{$ref:"#/$defs/leaf"}}},required:["component","id"],additionalProperties:!1},row:{description:"Components, side by side.",type:"object",properties:{component:{const:"row"},id:{$ref:"#/$defs/id"},hidden:{const:!0},children:{type:"array",items:{oneOf:[{$ref:"#/$defs/header"},{$ref:"#/$defs/text"},{$ref:"#/$defs/button"},{$ref:"#/$defs/list"},{$ref:"#/$defs/input"},{$ref:"#/$defs/image"},{$ref:"#/$defs/chart"},{$ref:"#/$defs/progress"},{$ref:"#/$defs/badge"},{$ref:"#/$defs/select"},{$ref:"#/$defs/slider"},{$ref:"#/$defs/checkbox"},{$ref:"#/$defs/divider"},{$ref:"#/$defs/column"},{$ref:"#/$defs/card"}]}}},required:["component","id"],additionalProperties:!1},card:{description:"A framed group.",type:"object",properties:{component:{const:"card"},id:{$ref:"#/$defs/id"},color:{$ref:"#/$defs/color"},marked:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"},children:{type:"array",items:{$ref:"#/$defs/leaf"}}},required:["component","id"],additionalProperties:!1},image:{description:"The place of an image that the text describes.",type:"object",properties:{component:{const:"image"},id:{$ref:"#/$defs/id"},size:{enum:["small","large"]},align:{enum:["center","right"]},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},tabs:{description:"Tabs, one of which is shown.",type:"object",properties:{component:{const:"tabs"},id:{$ref:"#/$defs/id"},hidden:{const:!0},children:{type:"array",items:{oneOf:[{$ref:"#/$defs/tab"}]}}},required:["component","id"],additionalProperties:!1},tab:{description:"What one tab shows.",type:"object",properties:{component:{const:"tab"},id:{$ref:"#/$defs/id"},on:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"},children:{type:"array",items:{oneOf:[{$ref:"#/$defs/header"},{$ref:"#/$defs/text"},{$ref:"#/$defs/button"},{$ref:"#/$defs/list"},{$ref:"#/$defs/input"},{$ref:"#/$defs/image"},{$ref:"#/$defs/chart"},{$ref:"#/$defs/progress"},{$ref:"#/$defs/badge"},{$ref:"#/$defs/select"},{$ref:"#/$defs/slider"},{$ref:"#/$defs/checkbox"},{$ref:"#/$defs/divider"},{$ref:"#/$defs/table"}]}}},required:["component","id","text"],additionalProperties:!1},chart:{description:"A diagram; each cell is a label and its number.",type:"object",properties:{component:{const:"chart"},id:{$ref:"#/$defs/id"},type:{enum:["line","pie"]},color:{$ref:"#/$defs/color"},hidden:{const:!0},text:{$ref:"#/$defs/label"},cells:{type:"array",items:{$ref:"#/$defs/cell"},minItems:0,maxItems:5}},required:["component","id","text"],additionalProperties:!1},progress:{description:"A bar that is filled by a percentage.",type:"object",properties:{component:{const:"progress"},id:{$ref:"#/$defs/id"},value:{type:"integer",minimum:0,maximum:100},color:{$ref:"#/$defs/color"},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},badge:{description:"A short label.",type:"object",properties:{component:{const:"badge"},id:{$ref:"#/$defs/id"},color:{$ref:"#/$defs/color"},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},select:{description:"A choice between the cells.",type:"object",properties:{component:{const:"select"},id:{$ref:"#/$defs/id"},disabled:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"},cells:{type:"array",items:{$ref:"#/$defs/cell"},minItems:0,maxItems:5}},required:["component","id","text"],additionalProperties:!1},slider:{description:"A value between 0 and 100.",type:"object",properties:{component:{const:"slider"},id:{$ref:"#/$defs/id"},value:{type:"integer",minimum:0,maximum:100},disabled:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},divider:{description:"A line between what is above and what is below.",type:"object",properties:{component:{const:"divider"},id:{$ref:"#/$defs/id"},hidden:{const:!0}},required:["component","id"],additionalProperties:!1}},ct={$defs:at},se=4,te=Array.from("abcdefghijklmnopqrstuvwxyz"),L=[...te,...te.flatMap(e=>te.map(t=>e+t))],Ie=new Map(L.map((e,t)=>[e,t])),ft=/^( *)(?:([a-z]{1,2}) )?([a-z]{3,})((?: [a-z0-9]+)*)(?:: ([^\n]+))?$/u,ut=/^(?:0|[1-9]\d*)$/;class u extends Error{constructor(){super(...arguments),this.name="PageError"}}const de=ct.$defs,Le=e=>e.$ref?.split("/").at(-1)??"";function oe(e){return e.$ref===void 0?e:oe(de[Le(e)]??{})}function ht(e,t){const n=new Map;let s=[0,0];const r=t.properties??{};for(const[l,d]of Object.entries(r)){const a=oe(d);if(a.type==="integer")n.set("#",l),s=[a.minimum??0,a.maximum??0];else if(l!=="component"&&(a.enum!==void 0||a.const!==void 0))for(const c of a.enum??[l])n.set(c,l)}const o=r.cells??{},i=oe(r.children?.items??{}).oneOf??[];return{name:e,words:n,properties:[...new Set(n.values())],range:s,hasText:"text"in r,needsText:t.required?.includes("text")??!1,cells:[o.minItems??0,o.maxItems??0],children:new Set(i.map(Le))}}const Q=new Map(Object.entries(de).filter(([,e])=>e.properties!==void 0&&"component"in e.properties).map(([e,t])=>[e,ht(e,t)])),ve=e=>new RegExp(de[e]?.pattern??"","u"),xe={label:ve("label"),cell:ve("cell")};function S(e){const t=Q.get(e.kind);if(t===void 0)throw new u(Ce("component",e.kind,Q.keys()));return t}function w(e){const t=e.replaceAll("\\","\\\\").replaceAll(`
`,"\\n");return t.includes("'")&&!t.includes('"')?`"${t}"`:`'${t.replaceAll("'","\\'")}'`}function Ce(e,t,n){return`unknown ${e} ${w(t)}; allowed: ${[...n].sort().join(", ")}`}function _(e,t){if(!ut.test(t))return t==="#"?void 0:e.words.get(t);const[n,s]=e.range;return Number(t)>=n&&Number(t)<=s?e.words.get("#"):void 0}function p(e,t){return e.words.find(n=>_(S(e),n)===t)}function ae(e,t,n){const s=S(e),r=i=>s.properties.indexOf(_(s,i)??""),o=e.words.filter(i=>_(s,i)!==t);return(n===null?o:[...o,n]).sort((i,l)=>r(i)-r(l))}function D(e){return e.filter(t=>p(t,"hidden")===void 0)}function*b(e){yield e;for(const t of e.children)yield*b(t)}function O(e,t){for(const n of b(e))if(n.id===t)return n}function R(e,t){for(const n of b(e))if(n.children.some(s=>s.id===t))return n}function ke(e){const[t,n]=e.range;return[...e.words.keys()].map(s=>s==="#"?`${t} to ${n}`:s).join(", ")||"no property"}function y(e){const t=S(e),{text:n,cells:s,words:r}=e,o=`${e.kind} ${e.id}`,i=r.map(c=>{const f=_(t,c);if(f===void 0)throw new u(`${o} has ${w(c)}; allowed: ${ke(t)}`);return t.properties.indexOf(f)});if(i.some((c,f)=>f>0&&c<=(i[f-1]??0)))throw new u(`${o} has ${w(r.join(" "))}; allowed: one each of ${ke(t)}`);if(n!==""&&!t.hasText||n===""&&t.needsText)throw new u(`${o} has ${n===""?"no":"a"} text; allowed: ${t.hasText?"a":"no"} text`);const[l,d]=t.cells;if(s.length<l||s.length>d||s.length>0&&t.hasText&&n==="")throw new u(`${o} has ${s.length} cells; allowed: ${l} to ${d}, behind its text if it has one`);const a=(c,f)=>new u(`${o} has the string ${w(c)}; allowed: 1 to ${f} characters without |, line ends, U+FFFD, and spaces at the ends or side by side`);if(n!==""&&!xe.label.test(n))throw a(n,32);for(const c of s)if(!xe.cell.test(c))throw a(c,16);for(const c of e.children){if(!t.children.has(c.kind)){const f=[...t.children].sort().join(", ")||"nothing";throw new u(`${o} holds ${c.kind} ${c.id}; allowed: ${f}`)}if(c.kind==="record"&&c.cells.length!==s.length)throw new u(`record ${c.id} has ${c.cells.length} cells; allowed: ${s.length}, as its table`)}return e}function Re(e){if(e.kind!=="page")throw new u(`the first component is a ${e.kind}; allowed: page`);const t=new Set;for(const{id:s}of b(e)){if(!Ie.has(s))throw new u(`a slot id is ${w(s)}; allowed: one or two letters from a to z`);if(t.has(s))throw new u(`two slots have the id ${w(s)}; allowed: one each`);t.add(s)}const n=De(e);if(n>se)throw new u(`components stand ${n} levels below the page; allowed: ${se}`);return e}function De(e){return Math.max(0,...e.children.map(t=>1+De(t)))}function Ne(e,t){const n=1+Math.max(...[...b(e)].map(({id:s})=>Ie.get(s)??0));if(n+t>L.length)throw new u(`the page has no id left for ${t} new slots; allowed: up to 'zz'`);return L.slice(n,n+t)}function ie(e,t=!0){const n=[...t?[e.id]:[],e.kind,...e.words].join(" "),s=[...e.text===""?[]:[e.text],...e.cells].join(" | ");return s===""?n:`${n}: ${s}`}function I(e,{ids:t=!0,indent:n=0}={}){return[" ".repeat(n)+ie(e,t),...e.children.map(s=>I(s,{ids:t,indent:n+1}))].join(`
`)}function ce(e,t){const n=ft.exec(e);if(n===null)throw new u("it is not a component; allowed: a slot id, a kind, its properties, a colon and a text");const[,s="",r,o="",i="",l]=n,d=l===void 0?[]:l.split(" | "),a=d.length>0&&(Q.get(o)?.hasText??!1),c=y({id:r??t,kind:o,words:i.split(" ").filter(f=>f!==""),text:a?d[0]??"":"",cells:a?d.slice(1):d,children:[]});return{indent:s.length,hasId:r!==void 0,component:c}}class _e{constructor(){this.path=[]}get length(){return this.path.length}add(t,n){this.complete(n),this.path.push([t,[]])}complete(t){for(;this.path.length>t;){const[n,s]=this.path.at(-1),r=s.length===0?n:y({...n,children:s});this.path.pop(),this.path.at(-1)?.[1].push(r)}}page(){this.complete(1);const[t,n]=this.path[0];return Re(y({...t,children:n}))}}function pt(e){const t=e.split(`
`);if(t.length>L.length)throw new u(`the page has ${t.length} lines; allowed: ${L.length}`);const n=new _e;let s=!1;return t.forEach((r,o)=>{try{const{indent:i,hasId:l,component:d}=ce(r,L[o]??"");if(o===0&&(s=l),l!==s)throw new u("some lines have slot ids and some do not; allowed: ids on all of them or on none");const a=Math.min(o,1);if(i<a||i>n.length)throw new u(`it has ${i} spaces before it; allowed: ${a} to ${n.length}`);n.add(d,i)}catch(i){throw i instanceof u?new u(`line ${o+1}, ${w(r)}: ${i.message}`):i}}),n.page()}function je(e){const t=e.split(`
`).slice(0,L.length),n=[],s=[];if(t.forEach((o,i)=>{try{const l=L[i]??"",{indent:d,component:a}=ce(o,l),c=d===0?void 0:n[d-1];if(!(c===void 0?d===0&&i===0&&a.kind==="page":d<=se&&(Q.get(c.kind)?.children.has(a.kind)??!1)&&(a.kind!=="record"||c.cells===a.cells.length)))return;n.splice(d,n.length,{kind:a.kind,cells:a.cells.length}),s.push({component:{...a,id:l},indent:d})}catch(l){if(!(l instanceof u))throw l}}),s.length===0)return null;const r=new _e;for(const{component:o,indent:i}of s)r.add(o,i);return r.page()}const $t=["not on this screen","a screen cannot do that","more than one fits"];function Ue(e){return e.startsWith("refuse: ")&&$t.includes(e.slice(8))}function H(e,t){if(Ue(t))return e;for(const n of t.split(`
`)){const[s=""]=n.split(" ",1),r=n.slice(s.length+1);try{const o=Oe.get(s);if(o===void 0)throw new u(Ce("operation",s,Oe.keys()));const i=o.form.exec(r);if(i===null)throw new u(`it is incomplete; allowed, for example: ${s} ${o.example}`);e=Re(o.run(e,...i.slice(1)))}catch(o){throw o instanceof u?new u(`${w(n)} does not fit: ${o.message}`):o}}return e}function He(e,t){const n=e.children.flatMap(o=>He(o,t)),r=n.length===e.children.length&&n.every((o,i)=>o===e.children[i])?e:y({...e,children:n});return t.get(e.id)?.(r)??[r]}function k(e,t,n){const[s]=He(e,new Map([...t].map(r=>[r,n])));if(s===void 0)throw new u("the page itself cannot be deleted; allowed: slots on it");return s}function g(e,t){const n=O(e,t);if(n!==void 0)return n;const s=[...b(e)].map(r=>r.id).join(", ");throw new u(`there is no slot ${w(t)}; allowed: ${s}`)}function U(e,t){g(e,t);const n=R(e,t);if(n!==void 0)return n;throw new u("the page itself cannot be moved, copied or deleted; allowed: slots on it")}function G(e,t){const n=e.kind==="table"?e.cells.indexOf(t):-1;if(n>=0)return n;throw new u(`${e.kind} ${e.id} has no column ${w(t)}; allowed: ${e.cells.join(", ")||"a table"}`)}function Y(e,t){const n=/^([a-z]{1,2})(?:(\*)(-?)([1-9]?)|([+-])([a-z]+)|\[(?:([^\n]+) \| )?([^\n]+)\])$/u.exec(t);if(n===null)return[...new Set(t.split(","))].map($=>g(e,$));const[,s="",r,o,i,l,d="",a,c]=n,f=g(e,s);if(i){const $=D(f.children),M=Number(i);if(M>$.length)throw new u(`${f.kind} ${s} shows no ${i}; allowed: up to ${$.length}`);return o?$.slice(-M):$.slice(0,M)}if(r!==void 0)return f.children;if(a!==void 0){const $=G(f,a);return f.children.filter(M=>M.cells[$]===c)}if(c!==void 0){if(f.kind!=="table")throw new u(`${f.kind} ${s} has no records; allowed: a table`);return f.children.filter($=>$.cells.includes(c))}const m=f.children.filter($=>S($).properties.includes(d));if(m.length===0)throw new u(`nothing in ${f.kind} ${s} can be ${w(d)}; allowed: a property of what is in it`);return m.filter($=>p($,d)!==void 0==(l==="+"))}const F=e=>e.map(({id:t})=>t);function mt(e,t,n){return k(e,F(Y(e,t)),s=>{const r=_(S(s),n);if(r===void 0){const o=[...S(s).words.keys()].join(", ");throw new u(`${s.kind} ${s.id} cannot be ${w(n)}; allowed: ${o}`)}return[y({...s,words:ae(s,r,n)})]})}function gt(e,t,n){return k(e,F(Y(e,t)),s=>{const r=S(s).properties;if(!r.includes(n))throw new u(`${s.kind} ${s.id} has no ${w(n)}; allowed: ${r.join(", ")}`);return[y({...s,words:ae(s,n,null)})]})}function bt(e,t,n){return g(e,t),k(e,[t],s=>[y({...s,text:n})])}function fe(e,t,...n){return[...e.slice(0,t),...n,...e.slice(t+1)]}function wt(e,t,n,s){const{cells:r}=g(e,t),o=U(e,t),l=!o.cells.includes(n)&&r.filter(d=>d===n).length===1?r.indexOf(n):G(o,n);return k(e,[t],d=>[y({...d,cells:fe(d.cells,l,s)})])}function ue(e,t,n,s){const o=t==="first"||t==="last"?g(e,n):U(e,n),i=o.children.findIndex(a=>a.id===n),l={first:0,last:o.children.length,before:i,after:i+1}[t]??0,d=[...o.children.slice(0,l),s,...o.children.slice(l)];return k(e,[o.id],a=>[y({...a,children:d})])}function yt(e,t,n,s){const{hasId:r,component:o}=ce(s,Ne(e,1)[0]??"");if(r)throw new u("the new component has an id; allowed: none, it gets one");return ue(e,t,n,o)}function vt(e,t){const n=F(Y(e,t));for(const s of n)U(e,s);return k(e,n,()=>[])}function xt(e,t,n,s){U(e,t);const r=g(e,t);if(O(r,s)!==void 0)throw new u(`${s} is in ${t} itself; allowed: a slot outside of it`);return g(e,s),ue(k(e,[t],()=>[]),n,s,r)}function kt(e,t,n){const[s,r]=[g(e,t),g(e,n)];if(U(e,t)!==U(e,n))throw new u(`${t} and ${n} are not in the same slot; allowed: two side by side`);return k(e,[t,n],({id:o})=>[o===t?r:s])}function jt(e,t){const n=g(e,t),s=Ne(e,[...b(n)].length)[Symbol.iterator](),r=o=>({...o,id:s.next().value??"",children:o.children.map(r)});return ue(e,"after",t,r(n))}function Ae(e){const t=/^[^\p{L}\p{N}_-]*(-?\d+(?:\.\d+)?)/u.exec(e),n=e.toUpperCase().toLowerCase().replaceAll("ς","σ");return[t===null?1:0,t===null?0:Number(t[1]),n]}function At(e,t){const[n,s]=[Array.from(e),Array.from(t)];for(let r=0;r<Math.min(n.length,s.length);r++){const o=(n[r]?.codePointAt(0)??0)-(s[r]?.codePointAt(0)??0);if(o!==0)return o}return n.length-s.length}function Et(e,t,n,s){const r=g(e,t);let o;if(r.kind==="table"){const d=G(r,s);o=a=>Ae(a.cells[d]??"")}else{if(r.kind!=="list")throw new u(`${t} is a ${r.kind}; allowed: a list or a table`);if(s==="name")o=d=>Ae(d.text);else if(s==="on"||s==="marked")o=d=>[p(d,s)===void 0?0:1,0,""];else throw new u(`a list cannot be sorted by ${w(s)}; allowed: name, on, marked`)}const i=n==="down"?-1:1,l=r.children.map(d=>({child:d,key:o(d)})).sort(({key:d},{key:a})=>i*(d[0]-a[0]||d[1]-a[1]||At(d[2],a[2]))).map(({child:d})=>d);return k(e,[t],d=>[{...d,children:l}])}function Ot(e,t){const n=new Set(F(Y(e,t))),s=/^[a-z]+/.exec(t)?.[0]??"";return k(e,F(g(e,s).children),r=>{const o=n.has(r.id)?null:"hidden";return[y({...r,words:ae(r,"hidden",o)})]})}function We(e,t,n){return k(e,[t],s=>{const r=s.children.map(o=>y({...o,cells:n(o)}));return[y({...s,cells:n(s),children:r})]})}function Tt(e,t,n,s){const r=g(e,t);if(r.kind!=="table")throw new u(`${t} is a ${r.kind}; allowed: a table`);return We(e,t,o=>[...o.cells,o.kind==="table"?n:s])}function Pt(e,t,n){const s=G(g(e,t),n);return We(e,t,r=>fe(r.cells,s))}function qt(e,t,n,s){const r=G(g(e,t),n);return k(e,[t],o=>[y({...o,cells:fe(o.cells,r,s)})])}const x="([a-z]{1,2})",q="([^\\n]+)",Ke="[a-z]{1,2}(?:\\*(?:-?[1-9])?|[+-][a-z]+|\\[[^\\n]+\\])",ne=`([a-z]{1,2}(?:,[a-z]{1,2})*|${Ke})`,Ee="(first|last|before|after)",Oe=new Map([["set",`${ne} ([a-z]+|\\d+)`,"d red",mt],["clear",`${ne} ([a-z]+)`,"d color",gt],["text",`${x}: ${q}`,"d: Save",bt],["cell",`${x} ${q} \\| ${q}`,"r Price | 12",wt],["add",`${Ee} ${x} ([^ ][^\\n]*)`,"last c checkbox: Milk",yt],["del",ne,"d,f",vt],["move",`${x} ${Ee} ${x}`,"d first c",xt],["swap",`${x} ${x}`,"d e",kt],["copy",x,"d",jt],["sort",`${x} (up|down) ${q}`,"c up name",Et],["only",`(${Ke})`,"c-on",Ot],["column",`${x} ${q} \\| ${q}`,"t Priority | low",Tt],["drop",`${x} ${q}`,"t Price",Pt],["head",`${x} ${q} \\| ${q}`,"t Price | Cost",qt]].map(([e,t,n,s])=>[e,{form:new RegExp(`^(?:${t})$`,"u"),example:n,run:s}])),jn="That text does not fit here: use up to 32 characters, without |.",Fe=["dark","sepia","contrast"];function he(e,t){switch(t.type){case"set":return`set ${t.slot} ${t.word}`;case"toggle":{const n=O(e,t.slot);return n===void 0?null:`${p(n,"on")===void 0?"set":"clear"} ${t.slot} on`}case"rename":{const n=O(e,t.slot);return n===void 0?null:St(e,n,t.says.map(pe))}case"add":return $e(e,t.slot,t.text);case"remove":return`del ${t.slot}`;case"move":{const n=Mt(e,t.slot,t.by);return n===void 0?null:`swap ${t.slot} ${n.id}`}case"sort":return`sort ${t.slot} ${me(e,t.slot,t.by)==="up"?"down":"up"} ${t.by}`;case"filter":{const n=O(e,t.slot);return n===void 0?null:B(n,t.by)}case"theme":return Fe.includes(t.name)?`set ${e.id} ${t.name}`:`clear ${e.id} theme`;case"navigate":{const n=R(e,t.slot);return n===void 0?null:`clear ${n.id}* on
set ${t.slot} on`}case"ask":return null}}function pe(e){return e.replaceAll("|","/").replace(/\s+/gu," ").trim()}function St(e,t,n){if(t.kind!=="record"){const[o=""]=n;return o===""||o===t.text?null:`text ${t.id}: ${o}`}const r=(R(e,t.id)?.cells??[]).flatMap((o,i)=>{const l=n[i]||"-";return l===t.cells[i]?[]:[`cell ${t.id} ${o} | ${l}`]});return r.length===0?null:r.join(`
`)}function $e(e,t,n){const[s,r]=[O(e,t),pe(n)];return s===void 0||r===""?null:s.kind==="table"?`add last ${t} record: ${[r,...s.cells.slice(1).map(()=>"-")].join(" | ")}`:`add last ${t} ${s.children.at(-1)?.kind??"checkbox"}: ${r}`}function Mt(e,t,n){const r=(R(e,t)?.children??[]).filter(o=>o.id===t||p(o,"hidden")===void 0);return r[r.findIndex(o=>o.id===t)+n]}function me(e,t,n){const s=l=>O(l,t)?.children.map(d=>d.id).join(","),r=l=>s(H(e,`sort ${t} ${l} ${n}`))===s(e),[o,i]=[r("up"),r("down")];return o===i?null:o?"up":"down"}const zt=/^(?:all|any|every\w*|show all|alle)$/i,Be=/\b(?:done|completed?|finished|checked|ticked)\b/i,It=/\b(?:open|active|undone|pending|unfinished|to ?do|not done|left)\b/i;function B(e,t){const{id:n}=e;if(e.children.length===0)return null;if(t===""||zt.test(t))return`only ${n}*`;const s=t.toLowerCase();for(const[a,c]of e.kind==="table"?e.cells.entries():[]){const f=e.children.map(m=>m.cells[a]??"").find(m=>m.toLowerCase()===s);if(f!==void 0)return`only ${n}[${c} | ${f}]`}const r=e.children.some(a=>S(a).properties.includes("on"));if(r&&It.test(t))return`only ${n}-on`;if(r&&Be.test(t))return`only ${n}+on`;const o=a=>[a.text,...a.cells].join(" ").toLowerCase().includes(s),[i,l]=[e.children.filter(o),e.children.filter(a=>!o(a))],d=(a,c,f)=>c.length===0?[]:[`${a} ${c.map(m=>m.id).join(",")} ${f}`];return[...d("clear",i,"hidden"),...d("set",l,"hidden")].join(`
`)}function ge(e,t){const n=i=>i.kind==="list"||i.kind==="table",s=R(e,t)?.children.find(n);if(s!==void 0)return s;const r=[...b(e)],o=r.findIndex(i=>i.id===t);return r.slice(0,o).findLast(n)??r.find(n)}function Lt(e,t){const n=R(e,t)?.children??[],s=n.findIndex(r=>r.id===t);return n.slice(0,s).filter(r=>["input","select","slider"].includes(r.kind))}function Ge(e,t,n){const s=O(e,t);if(s===void 0)return{};const r=s.text.toLowerCase(),o=ge(e,t),i=Lt(e,t),l=i.map(f=>f.id),d=R(e,t);if(i.length>0&&o?.kind==="table"&&!/^(?:search|find|filter)/.test(r)){const f=Nt(o,i,n);if(f!==null)return{program:f,clears:l}}if(/^(?:\+|add|new|create|insert|save|ok$)/.test(r)&&o!==void 0&&i.length<=1){const f=i[0]??[...b(e)].find($=>$.kind==="input");if(f===void 0)return{ask:s.text};const m=$e(e,o.id,n[f.id]??"");return m===null?{say:`Type in “${f.text}” what to add`}:{program:m,clears:[f.id]}}const a=/\b(dark|light|sepia|contrast)\b/.exec(r)?.[1];if(a!==void 0){const f=p(e,"theme")===a;return{program:he(e,{type:"theme",name:f?"light":a})??""}}if(/^(?:reset|cancel)\b/.test(r)&&l.length>0)return{clears:l};if(d?.kind==="card"&&/^(?:delete|remove|close|dismiss)$/.test(r))return{program:`del ${d.id}`};if(d?.kind==="card"&&/^(?:copy|duplicate)$/.test(r))return{program:`copy ${d.id}`};const c=o===void 0?null:Dt(o,r,i,n);return c!==null?Rt(e,c):i.length>0?{say:Ct(s,i,n)}:{ask:s.text+(d?.kind==="card"?`: ${d.text}`:"")}}function Ct(e,t,n){const s=t.find(r=>p(r,"required")!==void 0&&!n[r.id]?.trim());return s!==void 0?`Fill in “${s.text}”`:`“${e.text}” does nothing here: apps made on this page send nothing anywhere. What you typed stays.`}function Rt(e,t){try{return H(e,t),{program:t}}catch(n){if(n instanceof u)return{say:"There is nothing to do that to"};throw n}}function Dt(e,t,n,s){const r=/^(?:clear|delete|remove|empty)\b/.test(t);if(r&&Be.test(t))return`del ${e.id}+on`;if(r&&/\b(?:all|everything|list)\b/.test(t))return`del ${e.id}*`;if(/^sort\b/.test(t)){const o=e.cells.find(i=>t.includes(i.toLowerCase()))??e.cells[0]??"name";return`sort ${e.id} up ${o}`}return/^(?:untick|uncheck|reset|clear)\b/.test(t)?`clear ${e.id}* on`:/^(?:tick|check|complete|finish|mark)\b.*\ball\b/.test(t)?`set ${e.id}* on`:/^(?:search|find|filter)\b/.test(t)&&n[0]!==void 0?B(e,s[n[0].id]??""):/^(?:show|only|view)?\s*(?:all|open|active|done|completed)$/.test(t)?B(e,t.replace(/^(?:show|only|view)\s*/,"")):null}function Nt(e,t,n){const s=e.cells.map(o=>o.toLowerCase());if(!t.every(o=>s.includes(o.text.toLowerCase())))return null;const r=s.map(o=>{const i=t.find(l=>l.text.toLowerCase()===o);return(i===void 0?"":pe(n[i.id]??""))||"-"});return r.every(o=>o==="-")?null:`add last ${e.id} record: ${r.join(" | ")}`}function _t(e,t,n){const s=O(e,t),r=R(e,t)?.children??[],o=r.slice(r.findIndex(d=>d.id===t)).find(d=>d.kind==="button"),i=ge(e,t);if(s!==void 0&&i!==void 0&&p(s,"type")==="search")return{program:B(i,n[t]??"")??""};if(o!==void 0)return Ge(e,o.id,n);const l=i===void 0?null:$e(e,i.id,n[t]??"");return l===null?{}:{program:l,clears:[t]}}function Ut(e,t,n){const s=O(e,t);if(s===void 0)return{};const r=n.toLowerCase();if(Fe.includes(r)||r==="light")return{program:he(e,{type:"theme",name:r})??""};const o=ge(e,t);if(o===void 0)return{};if(/\b(?:sort|order)/i.test(s.text)){const d=o.cells.find(a=>a.toLowerCase()===r)??(o.kind==="list"?"name":null);return d===null?{}:{program:`sort ${o.id} up ${d}`}}const i=B(o,n),l=i?.startsWith("set ")===!0&&!i.includes(`
`);return i===null||l?{}:{program:i}}const Ht=`
> `,Te=5,Wt=.9,Kt=/\b(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|\d+(?:st|nd|rd|th)|(?:number|item|task|entry) \d+)\b/i,Ft=/[^\p{Script=Latin}\p{Script=Common}\p{Script=Inherited}]|\p{Extended_Pictographic}(?<![\d#*©®™])/u,Bt=/\b(?:all|both|every\w*|whole|entire|them|these|those|it|this|that|lists?|tables?|rows?|tabs?|cards?|sections?|columns?|groups?|windows?|forms?|panels?|box(?:es)?)\b/i,le="two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen".split(" "),Gt=new RegExp(`\\b(\\d{1,2}|${le.join("|")}) (?:[a-z-]+ )?(?:items|tasks|entries|things|chores|rows|points|steps|lines|jobs)\\b`,"gi"),Xt=2,An="The model changed nothing: it is so already, or say it in other words.";class K extends Error{constructor(){super(...arguments),this.name="NotUnderstood"}}function Jt(e,t,n){if(!Kt.test(n)||/\bhidden\b/i.test(n))return!1;const s=new Set([...b(e)].filter(r=>p(r,"hidden")!==void 0).map(({id:r})=>r));return t.split(`
`).some(r=>{const[,o=""]=r.split(" ");return!r.endsWith(" hidden")&&o.split(",").some(i=>s.has(i))})}function Qt(e,t,n){if(Bt.test(n))return null;const s=new Set(t.split(`
`).flatMap(l=>/^del ([a-z,]+)$/.exec(l)?.[1]?.split(",")??[])),r=n.toLowerCase(),o=l=>[l.kind,...l.text.toLowerCase().split(" ")];return[...b(e)].filter(({id:l,children:d})=>s.has(l)&&d.length>0).find(l=>!o(l).some(d=>d!==""&&r.includes(d)))??null}function Xe(e){return[...b(e)].filter(({kind:t})=>t==="list"||t==="table")}function Je(e,t){const[n,...s]=[...t.matchAll(Gt)].map(([,i=""])=>i.toLowerCase()),[r,...o]=Xe(e);return n===void 0||s.length>0||r===void 0||o.length>0?null:r.children.length-(le.includes(n)?le.indexOf(n)+2:Number(n))}function Vt(e,t){const n=Je(e,t)??0;if(n<=0)return e;const s=Xe(e).flatMap(({children:r})=>r.slice(-n).map(({id:o})=>o));return H(e,`del ${s.join(",")}`)}function En(e,t,{page:n,program:s}){return s===null||e===null||e===t?n:H(e,s)}function re(e){return tt()&&p(e,"theme")===void 0?H(e,`set ${e.id} dark`):e}function On({sfumato:e}){return e.tasks.includes("ui_screen")}async function Tn(e,t,n,s={}){const{page:r=null,seed:o=0,steps:i,signal:l,onDraft:d}=s,a=n.replace(/\s+/gu," ").trim();if(Ft.test(a))throw new K("The model reads Latin letters and no emoji, so nothing changed.");const c=r===null?`screen: ${a}`:I(r)+Ht+a,f=performance.now(),m={model:t,prompt:c,...i===void 0?{}:{steps:i}};let $={...m,seed:o};const M=j=>({...m,seed:o+j,temperature:Wt});let[Z,we]=["",""];for(let j=1;j<=Te;j++){const{text:v,usage:ye,reason:ee}=await Ze(e.stream({...$,every_step:!1},l),T=>{if(r!==null||d===void 0)return;const A=je(et(T));A!==null&&d(re(A),T)});if(r!==null&&ee==="steps")throw new K("The model is not sure what that means, so nothing changed. Try other words.");if(Ue(v))throw new K(`The model declines: ${v.replace("refuse: ","")}.`);try{if(r===null&&ee==="length")throw new u("it does not end");const T=r===null?re(Vt(pt(v),a)):H(r,v);if(r===null&&j===1&&(Je(T,a)??0)<0){$={...m,seed:o+j};continue}const A=r===null?null:Qt(r,v,a);if(A!==null){const Ye=`the ${A.kind}${A.text===""?"":` “${A.text}”`}`;throw new K(`The model would delete ${Ye}, which you did not name, so nothing changed.`)}if(r!==null&&Jt(r,v,a))throw new u("it means what is hidden");if(r!==null&&j<Te&&v!==we&&I(T)===I(r)){[we,$]=[v,M(j)];continue}return{page:T,program:r===null?null:v,usage:ye,ms:performance.now()-f}}catch(T){if(!(T instanceof u))throw T;Z=T.message;const A=r===null&&j>1&&ee!=="length"?je(v):null;if(A!==null&&I(A).split(`
`).length>=v.split(`
`).length-Xt)return{page:re(A),program:null,usage:ye,ms:performance.now()-f};$=r===null?Yt(m,$,v,Z,o+j):M(j)}}const Ve=r===null?"no screen that can be shown":"no change that fits this screen";throw new K(`The model wrote ${Ve}; say it in other words.`,{cause:Z})}function Yt(e,t,n,s,r){const o=Number(/^line (\d+)/.exec(s)?.[1]??0),i=n.split(`
`);if(!i[o-1]||t.text!==void 0)return{...e,seed:r};const l=i.slice(0,o-1).reduce((a,c)=>a+c.length+1,0),d=l+(i[o-1]?.length??0);return it(t,n,lt([[l,d]],n.length),r)}const Pe=3,qe=2;function E({kind:e,text:t,cells:n}){const s=t||(e==="record"?n[0]??"":"");return s===""?`the ${e}`:`“${s}”`}function Zt(e,t,n){switch(t){case"on":return e.kind==="tab"?n===void 0?null:"opened":n===void 0?"unticked":"ticked";case"hidden":return n===void 0?"showed":"hid";case"marked":return n===void 0?"unmarked":"marked";case"value":return`set to ${n??0}:`;case"theme":return`${n??"light"} theme for`;default:return n===void 0?`no ${t} any more:`:`made ${n}:`}}class en{constructor(){this.named=new Map}add(t,n){this.named.set(t,[...this.named.get(t)??[],n])}words(){const t=[...this.named].map(([s,r])=>{const o=r.length-qe,i=o>1?r.slice(0,qe):r;return`${s} ${i.join(", ")}${o>1?` and ${o} more`:""}`}),n=t.length-Pe;return t.slice(0,Pe).join("; ")+(n>0?`; and ${n} more changes`:"")}}function Se(e,t){const n=new en,[s,r]=[Me(e),Me(t)];for(const[o,{component:i,holder:l}]of s)!r.has(o)&&(l===null||r.has(l))&&n.add("removed",E(i));for(const[o,{component:i,holder:l}]of r){const d=s.get(o);if(d===void 0){(l===null||s.has(l))&&n.add("added",E(i));continue}if(d.holder!==l&&n.add("moved",E(i)),tn(d.component,i,n),rn(d.component,i,t,n),d.component.cells.join("|")!==i.cells.join("|")){const a=l===null?void 0:r.get(l)?.component,c=l===null?void 0:s.get(l)?.component;a?.cells.length===c?.cells.length&&nn(d.component,i,a,n)}}return n.words()}function Me(e){const t=new Map([[e.id,{component:e,holder:null}]]);for(const n of b(e))for(const s of n.children)t.set(s.id,{component:s,holder:n.id});return t}function tn(e,t,n){e.kind!==t.kind?n.add("replaced",E(e)):e.text!==t.text&&n.add(`renamed ${E(e)} to`,E(t));const s=new Set([e,t].flatMap(r=>r.words.map(o=>_(S(r),o)??"")));for(const r of s){const o=p(t,r);if(p(e,r)===o)continue;const i=Zt(t,r,o);i!==null&&n.add(i,t.kind==="page"?"the screen":E(t))}}function nn(e,t,n,s){const[r]=t.cells.filter(i=>!e.cells.includes(i)),[o]=e.cells.filter(i=>!t.cells.includes(i));t.kind==="record"?t.cells.forEach((i,l)=>{i!==e.cells[l]&&s.add(`${n?.cells[l]??""} is now ${i}:`,E(e))}):t.kind!=="table"?s.add("changed",E(t)):r!==void 0&&o!==void 0?s.add(`renamed the column “${o}” to`,`“${r}”`):s.add(`${o===void 0?"added":"removed"} the column`,`“${r??o??""}”`)}function rn(e,t,n,s){const r=(a,c)=>a.children.filter(({id:f})=>c.children.some(m=>m.id===f)),[o,i]=[r(e,t),r(t,e)],l=a=>a.map(({id:c})=>c).join(",");if(l(o)===l(i))return;const d=i.filter(a=>{const c=f=>l(f.filter(({id:m})=>m!==a.id));return c(o)===c(i)});if(d.length===0){const c=(t.kind==="table"?t.cells:t.kind==="list"?["name"]:[]).find(f=>me(n,t.id,f)!==null);s.add(c===void 0?"put in another order:":`sorted by ${c}:`,E(t))}for(const a of d)s.add(d.length>1?"swapped":"moved",E(a))}function sn(e,t){const n=s=>I(s).replace(/^( *[a-z]+ checkbox) on/gm,"$1");return I(e)!==I(t)&&n(e)===n(t)}function Pn(e){const t=[];return e.forEach(({page:n,said:s,ms:r},o)=>{const i=(r??0)>0?void 0:e[o-1]?.page,l=i!==void 0&&sn(i,n),d=t.at(-1),a=e[(d?.first??0)-1];if(l&&d?.isTicks===!0&&a!==void 0){const f=Se(a.page,n)||"ticked and unticked again";t.splice(-1,1,{...d,last:o,said:f});return}const c=i===void 0?"":Se(i,n);t.push({said:c||s,first:o,last:o,isTicks:l})}),t}const[be,Qe,N]=[320,150,122];function on(e){return e.cells.map(t=>{const n=/^(.*?)[ :]*(-?\d+(?:\.\d+)?)\D*$/u.exec(t);return{label:(n?.[1]??t)||t,value:n===null?0:Number(n[2])}})}function ln(e){const t=on(e),n=p(e,"type")??"bar",s=t.map(({label:o,value:i})=>`${o} ${i}`).join(", ")||"no values yet",r=t.length===0?dn():n==="pie"?cn(t):an(t,n==="line");return h`<svg
    viewBox="0 0 ${be} ${Qe}"
    role="img"
    aria-label="${e.text}, ${n} chart: ${s}"
  >
    ${r}
  </svg>`}function dn(){return z`<path class="axis" d="M20 ${N}H300"></path>
    <text x=${be/2} y=${Qe/2} text-anchor="middle">no values yet</text>`}function an(e,t){const n=Math.max(...e.map(({value:i})=>i),1),s=(be-40)/e.length,r=e.map(({label:i,value:l},d)=>({label:i,value:l,x:20+s*(d+.5),y:N-Math.max(0,l)/n*(N-24)})),o=z`<polyline class="line" points=${r.map(({x:i,y:l})=>`${i},${l}`).join(" ")}></polyline>`;return z`<path class="axis" d="M20 ${N}H300"></path>
    ${t?o:null}
    ${r.map(({label:i,value:l,x:d,y:a})=>{const c=Math.min(48,s*.6),f=t?z`<circle class="fill" cx=${d} cy=${a} r="4"></circle>`:z`<rect class="fill" x=${d-c/2} y=${a} width=${c} height=${N-a} rx="3"></rect>`;return z`${f}<text x=${d} y=${a-7} text-anchor="middle">${l}</text>
        <text x=${d} y=${N+18} text-anchor="middle">${i}</text>`})}`}function cn(e){const t=e.reduce((s,{value:r})=>s+Math.max(0,r),0)||1;let n=0;return z`${e.map(({label:s,value:r},o)=>{const i=100*Math.max(0,r)/t,l=n;return n+=i,z`<circle class="slice" style="--n: ${o}" cx="80" cy="75" r="31" pathLength="100"
        stroke-dasharray="${i} ${100-i}" stroke-dashoffset=${-l}></circle>
      <rect class="key" style="--n: ${o}" x="165" y=${22+o*24} width="12" height="12" rx="3"></rect>
      <text x="184" y=${32+o*24}>${s} ${r}</text>`})}`}const fn=ze`
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
`,un=ze`
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
  .tools {
    display: inline-flex;
    opacity: 0;
  }
  .tools button {
    padding: 0 0.5rem;
    line-height: 1.5;
    color: var(--soft);
  }
  :is(li, tr):is(:hover, :focus-within) .tools {
    opacity: 1;
  }
  @media (hover: none) {
    .tools {
      opacity: 1;
    }
  }
  input.says {
    min-width: 0;
  }
  td input.says {
    width: 100%;
    min-width: 4rem;
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
  td .tools {
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
`,hn=[fn,un];var pn=Object.defineProperty,$n=Object.getOwnPropertyDescriptor,W=(e,t,n,s)=>{for(var r=s>1?void 0:s?$n(t,n):t,o=e.length-1,i;o>=0;o--)(i=e[o])&&(r=(s?i(t,n,r):i(r))||r);return s&&r&&pn(t,n,r),r};const mn={up:"ascending",down:"descending"};let C=class extends st{constructor(){super(...arguments),this.page=null,this.bound={},this.draft=!1,this.theme="light",this.editing=null,this.changed=new Set,this.deleted=null}willUpdate(e){if(!e.has("page"))return;const t=e.get("page"),n=new Map(t?[...b(t)].map(r=>[r.id,ie(r)]):[]),s=this.page===null||n.size===0||this.draft?[]:[...b(this.page)];this.changed=new Set(s.filter(r=>n.get(r.id)!==ie(r)).map(({id:r})=>r))}render(){const e=this.page;if(e===null)return P;const t=e.children.some(n=>n.kind==="header");return h`<section
      class="page theme-${p(e,"theme")??this.theme}"
      data-slot=${e.id}
      aria-label=${e.text===""?"Screen":e.text}
      ?inert=${this.draft}
    >
      ${e.text===""||t?P:h`<h2>${e.text}</h2>`} ${this.inside(e)}
    </section>`}inside(e){const t=D(e.children);return J(t,n=>n.id,n=>h`<div class=${this.classes(n)} data-slot=${n.id}>${this.body(n)}</div>`)}classes(e){const t=p(e,"color");return["slot",e.kind,...e.words.filter(n=>n!==t&&!/^\d/.test(n)),...t===void 0?[]:["coloured",`c-${t}`],...this.changed.has(e.id)?["changed"]:[]].join(" ")}body(e){switch(e.kind){case"header":return h`<h2>${e.text}</h2>`;case"text":return this.text(e);case"badge":return h`<span>${e.text}</span>`;case"divider":return h`<hr />`;case"button":return h`<button
          ?disabled=${p(e,"disabled")!==void 0}
          @click=${()=>{this.clicked(e.id,"press")&&this.effect(Ge(this.shown(),e.id,this.values()))}}
        >
          ${e.text}
        </button>`;case"list":return this.list(e);case"checkbox":return this.checkbox(e);case"input":return this.input(e);case"select":return this.select(e);case"slider":return this.slider(e);case"progress":return h`<label
          ><span>${e.text} <span class="figures">${p(e,"value")??0}%</span></span>
          <progress max="100" value=${p(e,"value")??0}></progress
        ></label>`;case"table":return this.table(e);case"tabs":return this.tabs(e);case"chart":return h`<h3>${e.text}</h3>
          ${ln(e)}`;case"image":return this.image(e);case"card":return h`${e.text===""?P:h`<h3>${e.text}</h3>`}${this.inside(e)}`;default:return this.inside(e)}}text(e){const{value:t}=this.bound[e.id]??{};return t===void 0?h`<p>${e.text}</p>`:h`<pre role="log" aria-label=${e.text} tabindex="0">${t}</pre>`}list(e){const t=D(e.children),n=J(t,s=>s.id,s=>h`<li
          class=${this.classes(s)}
          data-slot=${s.id}
          @keydown=${r=>this.onEntryKey(r,s.id)}
          @focusout=${r=>this.onEntryLeft(r,s.id)}
        >
          ${this.editing===s.id?this.edited(s.text,"Text"):s.kind==="checkbox"?this.checkbox(s):this.item(s)}
          ${this.tools(s,s.text)}
        </li>`);return h`${e.text===""?P:h`<h3>${e.text}</h3>`}
    ${p(e,"numbered")===void 0?h`<ul>
            ${n}
          </ul>`:h`<ol>
            ${n}
          </ol>`}
    ${this.hiddenNote(e)}`}item({id:e,text:t}){return this.bound[e]?.opens!==!0?h`<span class="says">${t}</span>`:h`<button class="quiet says" @click=${()=>this.clicked(e,"open",t)}>${t}</button>`}tools({id:e},t){return this.editing===e?P:h`<span class="tools"
      ><button
        class="quiet"
        aria-label="Edit ${t}"
        title="F2"
        data-edits=${e}
        @click=${()=>this.editing=e}
      >
        ✎</button
      ><button
        class="quiet remove"
        aria-label="Delete ${t}"
        @click=${()=>this.act({type:"remove",slot:e})}
      >
        ×
      </button></span
    >`}edited(e,t){return h`<input
      class="says"
      data-edited
      aria-label=${t}
      maxlength="32"
      autocomplete="off"
      .value=${e}
    />`}hiddenNote(e){const t=e.children.length-D(e.children).length;return t===0?P:h`<p class="hidden-note">
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
    >`}input(e){const{value:t,isLong:n=!1,isReadonly:s=!1}=this.bound[e.id]??{},r=i=>{t!==void 0&&this.clicked(e.id,"input",i.target.value)},o=i=>{if(i.key!=="Enter"||i.isComposing)return;const l=i.target;t!==void 0?r(i):this.clicked(e.id,"enter",l.value)?this.effect(_t(this.shown(),e.id,this.values())):l.value=""};return h`<label
      ><span>${e.text}${p(e,"required")===void 0?"":" *"}</span>
      ${n?h`<textarea
              data-field=${e.id}
              rows="12"
              spellcheck="false"
              ?readonly=${s}
              .value=${X(t??"")}
              @input=${r}
            ></textarea>`:h`<input
              data-field=${e.id}
              type=${p(e,"type")??"text"}
              autocomplete="off"
              ?required=${p(e,"required")!==void 0}
              ?disabled=${p(e,"disabled")!==void 0}
              .value=${t===void 0?P:X(t)}
              @change=${r}
              @keydown=${o}
            />`}
    </label>`}select(e){const{value:t,options:n=e.cells}=this.bound[e.id]??{};return h`<label
      ><span>${e.text}</span>
      <select
        data-field=${e.id}
        ?disabled=${p(e,"disabled")!==void 0}
        @change=${s=>{const r=s.target.value;this.clicked(e.id,"choose",r)&&this.effect(Ut(this.shown(),e.id,r))}}
      >
        ${n.map(s=>t===void 0?h`<option>${s}</option>`:h`<option .selected=${s===t}>${s}</option>`)}
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
    /></label>`}table(e){const t=D(e.children),n=J(t,r=>r.id,r=>h`<tr
          class=${this.classes(r)}
          data-slot=${r.id}
          @keydown=${o=>this.onEntryKey(o,r.id)}
          @focusout=${o=>this.onEntryLeft(o,r.id)}
        >
          ${r.cells.map((o,i)=>h`<td class=${/^-?\d/.test(o)?"number":""}>
                ${this.editing===r.id?this.edited(o,e.cells[i]??""):o}
                ${i===r.cells.length-1?this.tools(r,r.cells[0]??""):P}
              </td>`)}
        </tr>`),s=e.cells.map(r=>{const o=this.draft?null:me(this.shown(),e.id,r);return h`<th scope="col" aria-sort=${o===null?"none":mn[o]}>
        <button class="quiet" @click=${()=>this.act({type:"sort",slot:e.id,by:r})}>
          ${r}<span aria-hidden="true">${o===null?"":o==="up"?" ↑":" ↓"}</span>
        </button>
      </th>`});return h`<div class="scroll" tabindex="0" role="region" aria-label=${e.cells.join(", ")}>
        <table>
          <thead>
            <tr>
              ${s}
            </tr>
          </thead>
          <tbody>
            ${n}
          </tbody>
        </table>
      </div>
      ${this.hiddenNote(e)}`}tabs(e){const t=D(e.children),n=t.find(r=>p(r,"on")!==void 0)??t[0];return n===void 0?P:h`<div role="tablist" @keydown=${r=>{const o={ArrowRight:1,ArrowLeft:-1}[r.key],i=o===void 0?void 0:t[(t.indexOf(n)+o+t.length)%t.length];i!==void 0&&(r.preventDefault(),this.act({type:"navigate",slot:i.id}),this.updateComplete.then(()=>this.renderRoot.querySelector(`#tab-${i.id}`)?.focus()))}}>
        ${J(t,r=>r.id,r=>h`<button
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
    </div>`}onEntryKey(e,t){if(e.isComposing)return;if(this.editing===t){if(e.key!=="Enter"&&e.key!=="Escape")return;e.key==="Enter"&&this.save(t),this.editing=null,e.preventDefault(),this.updateComplete.then(()=>this.renderRoot.querySelector(`[data-edits="${t}"]`)?.focus());return}const n=e.altKey?{ArrowUp:-1,ArrowDown:1}[e.key]:void 0;if(e.key==="Delete")this.act({type:"remove",slot:t});else if(e.key==="F2")this.editing=t;else if(n!==void 0)this.act({type:"move",slot:t,by:n});else return;e.preventDefault()}onEntryLeft(e,t){const[n,s]=[e.currentTarget,e.target],r=n.contains(e.relatedTarget);this.editing===t&&s.matches("[data-edited]")&&!r&&this.save(t)}save(e){const t=this.renderRoot.querySelectorAll("[data-edited]");this.editing=null,this.act({type:"rename",slot:e,says:[...t].map(({value:n})=>n)})}shown(){if(this.page===null)throw new Error("there is no page");return this.page}values(){const e=[...this.renderRoot.querySelectorAll("[data-field]")];return Object.fromEntries(e.map(t=>[t.dataset.field??"",t.value]))}clicked(e,t,n=""){const s={element:e,type:t,value:n};return this.dispatchEvent(new CustomEvent("sf-click",{detail:s,bubbles:!0,composed:!0,cancelable:!0}))}act(e){const t="by"in e?String(e.by):"",n="word"in e?e.word:"says"in e?e.says.join(" | "):t;if(!this.clicked(e.slot,e.type,n))return;e.type==="remove"&&this.noteDeleted(e.slot);const s=he(this.shown(),e);s!==null&&this.effect({program:s})}noteDeleted(e){const t=this.shadowRoot?.activeElement?.closest(`[data-slot="${e}"]`),n=[...this.renderRoot.querySelectorAll(".remove")];t&&(this.deleted={id:e,place:n.findIndex(s=>t.contains(s))})}updated(e){const{deleted:t,page:n}=this;this.editing!==null&&e.has("editing")&&this.renderRoot.querySelector("[data-edited]")?.select(),t!==null&&n!==null&&O(n,t.id)===void 0&&(this.deleted=null,dt(this.renderRoot,".remove",t.place));for(const s of this.renderRoot.querySelectorAll("pre"))s.scrollTop=s.scrollHeight}effect(e){for(const t of e.clears??[]){const n=this.renderRoot.querySelector(`[data-field="${t}"]`);n!==null&&n.type!=="range"&&(n.value="")}this.dispatchEvent(new CustomEvent("sf-effect",{detail:e,bubbles:!0,composed:!0})),this.requestUpdate()}};C.styles=[nt,hn];W([V({attribute:!1})],C.prototype,"page",2);W([V({attribute:!1})],C.prototype,"bound",2);W([V({type:Boolean})],C.prototype,"draft",2);W([V()],C.prototype,"theme",2);W([rt()],C.prototype,"editing",2);C=W([ot("sf-screen")],C);export{jn as M,K as N,u as P,An as U,Re as a,Je as b,Se as c,Tn as d,H as e,p as g,Pn as h,On as i,Ne as n,En as o,pt as p,O as s,I as t,D as v,b as w};
