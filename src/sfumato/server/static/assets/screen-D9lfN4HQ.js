import{a as ot}from"./answer-CwhH4pm4.js";import{t as it}from"./canvas-BqwZnn-S.js";import{h as lt,d as h,G as z,i as Ce,e as dt,o as Q,r as at,g as ct,A as S,C as ut}from"./index-CMMe71eo.js";import{a as ft,o as ht}from"./take-R79uc_On.js";import{l as X}from"./live-Cg5bwphB.js";import{c as Y}from"./repeat-DFZ7HjUn.js";import{f as pt}from"./focus-BpYcMQ1a.js";const $t={id:{type:"string",pattern:"^[a-z]{1,2}$",description:"Of a slot: unique within a page."},label:{type:"string",pattern:"^[^\\u0000-\\u0020\\u007f-\\u00a0\\u2028\\u2029\\ufffd|](?: ?[^\\u0000-\\u0020\\u007f-\\u00a0\\u2028\\u2029\\ufffd|]){0,31}$"},cell:{type:"string",pattern:"^[^\\u0000-\\u0020\\u007f-\\u00a0\\u2028\\u2029\\ufffd|](?: ?[^\\u0000-\\u0020\\u007f-\\u00a0\\u2028\\u2029\\ufffd|]){0,15}$"},color:{enum:["red","orange","yellow","green","blue","purple","pink","grey","black","white"]},block:{oneOf:[{$ref:"#/$defs/header"},{$ref:"#/$defs/text"},{$ref:"#/$defs/button"},{$ref:"#/$defs/list"},{$ref:"#/$defs/input"},{$ref:"#/$defs/table"},{$ref:"#/$defs/column"},{$ref:"#/$defs/row"},{$ref:"#/$defs/card"},{$ref:"#/$defs/image"},{$ref:"#/$defs/tabs"},{$ref:"#/$defs/chart"},{$ref:"#/$defs/progress"},{$ref:"#/$defs/badge"},{$ref:"#/$defs/select"},{$ref:"#/$defs/slider"},{$ref:"#/$defs/checkbox"},{$ref:"#/$defs/divider"}]},leaf:{oneOf:[{$ref:"#/$defs/header"},{$ref:"#/$defs/text"},{$ref:"#/$defs/button"},{$ref:"#/$defs/list"},{$ref:"#/$defs/input"},{$ref:"#/$defs/image"},{$ref:"#/$defs/chart"},{$ref:"#/$defs/progress"},{$ref:"#/$defs/badge"},{$ref:"#/$defs/select"},{$ref:"#/$defs/slider"},{$ref:"#/$defs/checkbox"},{$ref:"#/$defs/divider"}]},page:{description:"A whole screen.",type:"object",properties:{component:{const:"page"},id:{$ref:"#/$defs/id"},theme:{enum:["dark","sepia","contrast"]},text:{$ref:"#/$defs/label"},children:{type:"array",items:{$ref:"#/$defs/block"}}},required:["component","id"],additionalProperties:!1},header:{description:"A title.",type:"object",properties:{component:{const:"header"},id:{$ref:"#/$defs/id"},color:{$ref:"#/$defs/color"},size:{enum:["small","large"]},align:{enum:["center","right"]},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},text:{description:"A line of text.",type:"object",properties:{component:{const:"text"},id:{$ref:"#/$defs/id"},color:{$ref:"#/$defs/color"},size:{enum:["small","large"]},align:{enum:["center","right"]},bold:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},button:{description:"A button.",type:"object",properties:{component:{const:"button"},id:{$ref:"#/$defs/id"},color:{$ref:"#/$defs/color"},size:{enum:["small","large"]},disabled:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},list:{description:"Items or checkboxes, one below the other.",type:"object",properties:{component:{const:"list"},id:{$ref:"#/$defs/id"},numbered:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"},children:{type:"array",items:{oneOf:[{$ref:"#/$defs/item"},{$ref:"#/$defs/checkbox"}]}}},required:["component","id"],additionalProperties:!1},item:{description:"An entry of a list.",type:"object",properties:{component:{const:"item"},id:{$ref:"#/$defs/id"},color:{$ref:"#/$defs/color"},marked:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},checkbox:{description:"Something that is done or not, in a list or alone.",type:"object",properties:{component:{const:"checkbox"},id:{$ref:"#/$defs/id"},on:{const:!0},color:{$ref:"#/$defs/color"},marked:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},input:{description:"A field to type in.",type:"object",properties:{component:{const:"input"},id:{$ref:"#/$defs/id"},type:{enum:["email","number","date","time","password","search"]},required:{const:!0},disabled:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},table:{description:"Records under the names of their columns.",type:"object",properties:{component:{const:"table"},id:{$ref:"#/$defs/id"},hidden:{const:!0},cells:{type:"array",items:{$ref:"#/$defs/cell"},minItems:1,maxItems:5},children:{type:"array",items:{oneOf:[{$ref:"#/$defs/record"}]}}},required:["component","id","cells"],additionalProperties:!1},record:{description:"A row of a table: a cell for each column.",type:"object",properties:{component:{const:"record"},id:{$ref:"#/$defs/id"},marked:{const:!0},hidden:{const:!0},cells:{type:"array",items:{$ref:"#/$defs/cell"},minItems:1,maxItems:5}},required:["component","id","cells"],additionalProperties:!1},column:{description:"Components, one below the other.",type:"object",properties:{component:{const:"column"},id:{$ref:"#/$defs/id"},hidden:{const:!0},children:{type:"array",items:{$ref:"#/$defs/leaf"}}},required:["component","id"],additionalProperties:!1},row:{description:"Components, side by side.",type:"object",properties:{component:{const:"row"},id:{$ref:"#/$defs/id"},hidden:{const:!0},children:{type:"array",items:{oneOf:[{$ref:"#/$defs/header"},{$ref:"#/$defs/text"},{$ref:"#/$defs/button"},{$ref:"#/$defs/list"},{$ref:"#/$defs/input"},{$ref:"#/$defs/image"},{$ref:"#/$defs/chart"},{$ref:"#/$defs/progress"},{$ref:"#/$defs/badge"},{$ref:"#/$defs/select"},{$ref:"#/$defs/slider"},{$ref:"#/$defs/checkbox"},{$ref:"#/$defs/divider"},{$ref:"#/$defs/column"},{$ref:"#/$defs/card"}]}}},required:["component","id"],additionalProperties:!1},card:{description:"A framed group.",type:"object",properties:{component:{const:"card"},id:{$ref:"#/$defs/id"},color:{$ref:"#/$defs/color"},marked:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"},children:{type:"array",items:{$ref:"#/$defs/leaf"}}},required:["component","id"],additionalProperties:!1},image:{description:"The place of an image that the text describes.",type:"object",properties:{component:{const:"image"},id:{$ref:"#/$defs/id"},size:{enum:["small","large"]},align:{enum:["center","right"]},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},tabs:{description:"Tabs, one of which is shown.",type:"object",properties:{component:{const:"tabs"},id:{$ref:"#/$defs/id"},hidden:{const:!0},children:{type:"array",items:{oneOf:[{$ref:"#/$defs/tab"}]}}},required:["component","id"],additionalProperties:!1},tab:{description:"What one tab shows.",type:"object",properties:{component:{const:"tab"},id:{$ref:"#/$defs/id"},on:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"},children:{type:"array",items:{oneOf:[{$ref:"#/$defs/header"},{$ref:"#/$defs/text"},{$ref:"#/$defs/button"},{$ref:"#/$defs/list"},{$ref:"#/$defs/input"},{$ref:"#/$defs/image"},{$ref:"#/$defs/chart"},{$ref:"#/$defs/progress"},{$ref:"#/$defs/badge"},{$ref:"#/$defs/select"},{$ref:"#/$defs/slider"},{$ref:"#/$defs/checkbox"},{$ref:"#/$defs/divider"},{$ref:"#/$defs/table"}]}}},required:["component","id","text"],additionalProperties:!1},chart:{description:"A diagram; each cell is a label and its number.",type:"object",properties:{component:{const:"chart"},id:{$ref:"#/$defs/id"},type:{enum:["line","pie"]},color:{$ref:"#/$defs/color"},hidden:{const:!0},text:{$ref:"#/$defs/label"},cells:{type:"array",items:{$ref:"#/$defs/cell"},minItems:0,maxItems:5}},required:["component","id","text"],additionalProperties:!1},progress:{description:"A bar that is filled by a percentage.",type:"object",properties:{component:{const:"progress"},id:{$ref:"#/$defs/id"},value:{type:"integer",minimum:0,maximum:100},color:{$ref:"#/$defs/color"},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},badge:{description:"A short label.",type:"object",properties:{component:{const:"badge"},id:{$ref:"#/$defs/id"},color:{$ref:"#/$defs/color"},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},select:{description:"A choice between the cells.",type:"object",properties:{component:{const:"select"},id:{$ref:"#/$defs/id"},disabled:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"},cells:{type:"array",items:{$ref:"#/$defs/cell"},minItems:0,maxItems:5}},required:["component","id","text"],additionalProperties:!1},slider:{description:"A value between 0 and 100.",type:"object",properties:{component:{const:"slider"},id:{$ref:"#/$defs/id"},value:{type:"integer",minimum:0,maximum:100},disabled:{const:!0},hidden:{const:!0},text:{$ref:"#/$defs/label"}},required:["component","id","text"],additionalProperties:!1},divider:{description:"A line between what is above and what is below.",type:"object",properties:{component:{const:"divider"},id:{$ref:"#/$defs/id"},hidden:{const:!0}},required:["component","id"],additionalProperties:!1}},mt={$defs:$t},oe=4,ne=Array.from("abcdefghijklmnopqrstuvwxyz"),L=[...ne,...ne.flatMap(e=>ne.map(t=>e+t))],De=new Map(L.map((e,t)=>[e,t])),gt=/^( *)(?:([a-z]{1,2}) )?([a-z]{3,})((?: [a-z0-9]+)*)(?:: ([^\n]+))?$/u,bt=/^(?:0|[1-9]\d*)$/;class f extends Error{constructor(){super(...arguments),this.name="PageError"}}const ae=mt.$defs,Re=e=>e.$ref?.split("/").at(-1)??"";function ie(e){return e.$ref===void 0?e:ie(ae[Re(e)]??{})}function wt(e,t){const n=new Map;let r=[0,0];const s=t.properties??{};for(const[l,d]of Object.entries(s)){const a=ie(d);if(a.type==="integer")n.set("#",l),r=[a.minimum??0,a.maximum??0];else if(l!=="component"&&(a.enum!==void 0||a.const!==void 0))for(const c of a.enum??[l])n.set(c,l)}const o=s.cells??{},i=ie(s.children?.items??{}).oneOf??[];return{name:e,words:n,properties:[...new Set(n.values())],range:r,hasText:"text"in s,needsText:t.required?.includes("text")??!1,cells:[o.minItems??0,o.maxItems??0],children:new Set(i.map(Re))}}const J=new Map(Object.entries(ae).filter(([,e])=>e.properties!==void 0&&"component"in e.properties).map(([e,t])=>[e,wt(e,t)])),V=120,Ne=/\{0,(\d+)\}\$$/,_e=e=>ae[e]?.pattern??"",xe=e=>new RegExp(_e(e).replace(Ne,`{0,${V-1}}$`),"u"),ke={label:xe("label"),cell:xe("cell")},Ae=e=>1+Number(Ne.exec(_e(e))?.[1]),je={label:Ae("label"),cell:Ae("cell")};function Ue(e){const t=(n,r)=>n.length<=r?n:n.slice(0,r+1).replace(/ \S*$/,"").slice(0,r);return{...e,text:t(e.text,je.label),cells:e.cells.map(n=>t(n,je.cell)),children:e.children.map(Ue)}}function q(e){const t=J.get(e.kind);if(t===void 0)throw new f(He("component",e.kind,J.keys()));return t}function w(e){const t=e.replaceAll("\\","\\\\").replaceAll(`
`,"\\n");return t.includes("'")&&!t.includes('"')?`"${t}"`:`'${t.replaceAll("'","\\'")}'`}function He(e,t,n){return`unknown ${e} ${w(t)}; allowed: ${[...n].sort().join(", ")}`}function _(e,t){if(!bt.test(t))return t==="#"?void 0:e.words.get(t);const[n,r]=e.range;return Number(t)>=n&&Number(t)<=r?e.words.get("#"):void 0}function p(e,t){return e.words.find(n=>_(q(e),n)===t)}function ce(e,t,n){const r=q(e),s=i=>r.properties.indexOf(_(r,i)??""),o=e.words.filter(i=>_(r,i)!==t);return(n===null?o:[...o,n]).sort((i,l)=>s(i)-s(l))}function R(e){return e.filter(t=>p(t,"hidden")===void 0)}function*g(e){yield e;for(const t of e.children)yield*g(t)}function T(e,t){for(const n of g(e))if(n.id===t)return n}function D(e,t){for(const n of g(e))if(n.children.some(r=>r.id===t))return n}function Ee(e){const[t,n]=e.range;return[...e.words.keys()].map(r=>r==="#"?`${t} to ${n}`:r).join(", ")||"no property"}function y(e){const t=q(e),{text:n,cells:r,words:s}=e,o=`${e.kind} ${e.id}`,i=s.map(c=>{const u=_(t,c);if(u===void 0)throw new f(`${o} has ${w(c)}; allowed: ${Ee(t)}`);return t.properties.indexOf(u)});if(i.some((c,u)=>u>0&&c<=(i[u-1]??0)))throw new f(`${o} has ${w(s.join(" "))}; allowed: one each of ${Ee(t)}`);if(n!==""&&!t.hasText||n===""&&t.needsText)throw new f(`${o} has ${n===""?"no":"a"} text; allowed: ${t.hasText?"a":"no"} text`);const[l,d]=t.cells;if(r.length<l||r.length>d||r.length>0&&t.hasText&&n==="")throw new f(`${o} has ${r.length} cells; allowed: ${l} to ${d}, behind its text if it has one`);const a=c=>new f(`${o} has the string ${w(c)}; allowed: 1 to ${V} characters without |, line ends, U+FFFD, and spaces at the ends or side by side`);if(n!==""&&!ke.label.test(n))throw a(n);for(const c of r)if(!ke.cell.test(c))throw a(c);for(const c of e.children){if(!t.children.has(c.kind)){const u=[...t.children].sort().join(", ")||"nothing";throw new f(`${o} holds ${c.kind} ${c.id}; allowed: ${u}`)}if(c.kind==="record"&&c.cells.length!==r.length)throw new f(`record ${c.id} has ${c.cells.length} cells; allowed: ${r.length}, as its table`)}return e}function We(e){if(e.kind!=="page")throw new f(`the first component is a ${e.kind}; allowed: page`);const t=new Set;for(const{id:r}of g(e)){if(!De.has(r))throw new f(`a slot id is ${w(r)}; allowed: one or two letters from a to z`);if(t.has(r))throw new f(`two slots have the id ${w(r)}; allowed: one each`);t.add(r)}const n=Fe(e);if(n>oe)throw new f(`components stand ${n} levels below the page; allowed: ${oe}`);return e}function Fe(e){return Math.max(0,...e.children.map(t=>1+Fe(t)))}function Ke(e,t){const n=1+Math.max(...[...g(e)].map(({id:r})=>De.get(r)??0));if(n+t>L.length)throw new f(`the page has no id left for ${t} new slots; allowed: up to 'zz'`);return L.slice(n,n+t)}function le(e,t=!0){const n=[...t?[e.id]:[],e.kind,...e.words].join(" "),r=[...e.text===""?[]:[e.text],...e.cells].join(" | ");return r===""?n:`${n}: ${r}`}function I(e,{ids:t=!0,indent:n=0}={}){return[" ".repeat(n)+le(e,t),...e.children.map(r=>I(r,{ids:t,indent:n+1}))].join(`
`)}function ue(e,t){const n=gt.exec(e);if(n===null)throw new f("it is not a component; allowed: a slot id, a kind, its properties, a colon and a text");const[,r="",s,o="",i="",l]=n,d=l===void 0?[]:l.split(" | "),a=d.length>0&&(J.get(o)?.hasText??!1),c=y({id:s??t,kind:o,words:i.split(" ").filter(u=>u!==""),text:a?d[0]??"":"",cells:a?d.slice(1):d,children:[]});return{indent:r.length,hasId:s!==void 0,component:c}}class Be{constructor(){this.path=[]}get length(){return this.path.length}add(t,n){this.complete(n),this.path.push([t,[]])}complete(t){for(;this.path.length>t;){const[n,r]=this.path.at(-1),s=r.length===0?n:y({...n,children:r});this.path.pop(),this.path.at(-1)?.[1].push(s)}}page(){this.complete(1);const[t,n]=this.path[0];return We(y({...t,children:n}))}}function yt(e){const t=e.split(`
`);if(t.length>L.length)throw new f(`the page has ${t.length} lines; allowed: ${L.length}`);const n=new Be;let r=!1;return t.forEach((s,o)=>{try{const{indent:i,hasId:l,component:d}=ue(s,L[o]??"");if(o===0&&(r=l),l!==r)throw new f("some lines have slot ids and some do not; allowed: ids on all of them or on none");const a=Math.min(o,1);if(i<a||i>n.length)throw new f(`it has ${i} spaces before it; allowed: ${a} to ${n.length}`);n.add(d,i)}catch(i){throw i instanceof f?new f(`line ${o+1}, ${w(s)}: ${i.message}`):i}}),n.page()}function Oe(e){const t=e.split(`
`).slice(0,L.length),n=[],r=[];if(t.forEach((o,i)=>{try{const l=L[i]??"",{indent:d,component:a}=ue(o,l),c=d===0?void 0:n[d-1];if(!(c===void 0?d===0&&i===0&&a.kind==="page":d<=oe&&(J.get(c.kind)?.children.has(a.kind)??!1)&&(a.kind!=="record"||c.cells===a.cells.length)))return;n.splice(d,n.length,{kind:a.kind,cells:a.cells.length}),r.push({component:{...a,id:l},indent:d})}catch(l){if(!(l instanceof f))throw l}}),r.length===0)return null;const s=new Be;for(const{component:o,indent:i}of r)s.add(o,i);return s.page()}const vt=["not on this screen","a screen cannot do that","more than one fits"];function Ge(e){return e.startsWith("refuse: ")&&vt.includes(e.slice(8))}function H(e,t){if(Ge(t))return e;for(const n of t.split(`
`)){const[r=""]=n.split(" ",1),s=n.slice(r.length+1);try{const o=Pe.get(r);if(o===void 0)throw new f(He("operation",r,Pe.keys()));const i=o.form.exec(s);if(i===null)throw new f(`it is incomplete; allowed, for example: ${r} ${o.example}`);e=We(o.run(e,...i.slice(1)))}catch(o){throw o instanceof f?new f(`${w(n)} does not fit: ${o.message}`):o}}return e}function Xe(e,t){const n=e.children.flatMap(o=>Xe(o,t)),s=n.length===e.children.length&&n.every((o,i)=>o===e.children[i])?e:y({...e,children:n});return t.get(e.id)?.(s)??[s]}function k(e,t,n){const[r]=Xe(e,new Map([...t].map(s=>[s,n])));if(r===void 0)throw new f("the page itself cannot be deleted; allowed: slots on it");return r}function b(e,t){const n=T(e,t);if(n!==void 0)return n;const r=[...g(e)].map(s=>s.id).join(", ");throw new f(`there is no slot ${w(t)}; allowed: ${r}`)}function U(e,t){b(e,t);const n=D(e,t);if(n!==void 0)return n;throw new f("the page itself cannot be moved, copied or deleted; allowed: slots on it")}function G(e,t){const n=e.kind==="table"?e.cells.indexOf(t):-1;if(n>=0)return n;throw new f(`${e.kind} ${e.id} has no column ${w(t)}; allowed: ${e.cells.join(", ")||"a table"}`)}function Z(e,t){const n=/^([a-z]{1,2})(?:(\*)(-?)([1-9]?)|([+-])([a-z]+)|\[(?:([^\n]+) \| )?([^\n]+)\])$/u.exec(t);if(n===null)return[...new Set(t.split(","))].map($=>b(e,$));const[,r="",s,o,i,l,d="",a,c]=n,u=b(e,r);if(i){const $=R(u.children),M=Number(i);if(M>$.length)throw new f(`${u.kind} ${r} shows no ${i}; allowed: up to ${$.length}`);return o?$.slice(-M):$.slice(0,M)}if(s!==void 0)return u.children;if(a!==void 0){const $=G(u,a);return u.children.filter(M=>M.cells[$]===c)}if(c!==void 0){if(u.kind!=="table")throw new f(`${u.kind} ${r} has no records; allowed: a table`);return u.children.filter($=>$.cells.includes(c))}const m=u.children.filter($=>q($).properties.includes(d));if(m.length===0)throw new f(`nothing in ${u.kind} ${r} can be ${w(d)}; allowed: a property of what is in it`);return m.filter($=>p($,d)!==void 0==(l==="+"))}const K=e=>e.map(({id:t})=>t);function xt(e,t,n){return k(e,K(Z(e,t)),r=>{const s=_(q(r),n);if(s===void 0){const o=[...q(r).words.keys()].join(", ");throw new f(`${r.kind} ${r.id} cannot be ${w(n)}; allowed: ${o}`)}return[y({...r,words:ce(r,s,n)})]})}function kt(e,t,n){return k(e,K(Z(e,t)),r=>{const s=q(r).properties;if(!s.includes(n))throw new f(`${r.kind} ${r.id} has no ${w(n)}; allowed: ${s.join(", ")}`);return[y({...r,words:ce(r,n,null)})]})}function At(e,t,n){return b(e,t),k(e,[t],r=>[y({...r,text:n})])}function fe(e,t,...n){return[...e.slice(0,t),...n,...e.slice(t+1)]}function jt(e,t,n,r){const{cells:s}=b(e,t),o=U(e,t),l=!o.cells.includes(n)&&s.filter(d=>d===n).length===1?s.indexOf(n):G(o,n);return k(e,[t],d=>[y({...d,cells:fe(d.cells,l,r)})])}function he(e,t,n,r){const o=t==="first"||t==="last"?b(e,n):U(e,n),i=o.children.findIndex(a=>a.id===n),l={first:0,last:o.children.length,before:i,after:i+1}[t]??0,d=[...o.children.slice(0,l),r,...o.children.slice(l)];return k(e,[o.id],a=>[y({...a,children:d})])}function Et(e,t,n,r){const{hasId:s,component:o}=ue(r,Ke(e,1)[0]??"");if(s)throw new f("the new component has an id; allowed: none, it gets one");return he(e,t,n,o)}function Ot(e,t){const n=K(Z(e,t));for(const r of n)U(e,r);return k(e,n,()=>[])}function Tt(e,t,n,r){U(e,t);const s=b(e,t);if(T(s,r)!==void 0)throw new f(`${r} is in ${t} itself; allowed: a slot outside of it`);return b(e,r),he(k(e,[t],()=>[]),n,r,s)}function St(e,t,n){const[r,s]=[b(e,t),b(e,n)];if(U(e,t)!==U(e,n))throw new f(`${t} and ${n} are not in the same slot; allowed: two side by side`);return k(e,[t,n],({id:o})=>[o===t?s:r])}function Pt(e,t){const n=b(e,t),r=Ke(e,[...g(n)].length)[Symbol.iterator](),s=o=>({...o,id:r.next().value??"",children:o.children.map(s)});return he(e,"after",t,s(n))}function Te(e){const t=/^[^\p{L}\p{N}_-]*(-?\d+(?:\.\d+)?)/u.exec(e),n=e.toUpperCase().toLowerCase().replaceAll("ς","σ");return[t===null?1:0,t===null?0:Number(t[1]),n]}function qt(e,t){const[n,r]=[Array.from(e),Array.from(t)];for(let s=0;s<Math.min(n.length,r.length);s++){const o=(n[s]?.codePointAt(0)??0)-(r[s]?.codePointAt(0)??0);if(o!==0)return o}return n.length-r.length}function Mt(e,t,n,r){const s=b(e,t);let o;if(s.kind==="table"){const d=G(s,r);o=a=>Te(a.cells[d]??"")}else{if(s.kind!=="list")throw new f(`${t} is a ${s.kind}; allowed: a list or a table`);if(r==="name")o=d=>Te(d.text);else if(r==="on"||r==="marked")o=d=>[p(d,r)===void 0?0:1,0,""];else throw new f(`a list cannot be sorted by ${w(r)}; allowed: name, on, marked`)}const i=n==="down"?-1:1,l=s.children.map(d=>({child:d,key:o(d)})).sort(({key:d},{key:a})=>i*(d[0]-a[0]||d[1]-a[1]||qt(d[2],a[2]))).map(({child:d})=>d);return k(e,[t],d=>[{...d,children:l}])}function zt(e,t){const n=new Set(K(Z(e,t))),r=/^[a-z]+/.exec(t)?.[0]??"";return k(e,K(b(e,r).children),s=>{const o=n.has(s.id)?null:"hidden";return[y({...s,words:ce(s,"hidden",o)})]})}function Ye(e,t,n){return k(e,[t],r=>{const s=r.children.map(o=>y({...o,cells:n(o)}));return[y({...r,cells:n(r),children:s})]})}function It(e,t,n,r){const s=b(e,t);if(s.kind!=="table")throw new f(`${t} is a ${s.kind}; allowed: a table`);return Ye(e,t,o=>[...o.cells,o.kind==="table"?n:r])}function Lt(e,t,n){const r=G(b(e,t),n);return Ye(e,t,s=>fe(s.cells,r))}function Ct(e,t,n,r){const s=G(b(e,t),n);return k(e,[t],o=>[y({...o,cells:fe(o.cells,s,r)})])}const x="([a-z]{1,2})",P="([^\\n]+)",Je="[a-z]{1,2}(?:\\*(?:-?[1-9])?|[+-][a-z]+|\\[[^\\n]+\\])",re=`([a-z]{1,2}(?:,[a-z]{1,2})*|${Je})`,Se="(first|last|before|after)",Pe=new Map([["set",`${re} ([a-z]+|\\d+)`,"d red",xt],["clear",`${re} ([a-z]+)`,"d color",kt],["text",`${x}: ${P}`,"d: Save",At],["cell",`${x} ${P} \\| ${P}`,"r Price | 12",jt],["add",`${Se} ${x} ([^ ][^\\n]*)`,"last c checkbox: Milk",Et],["del",re,"d,f",Ot],["move",`${x} ${Se} ${x}`,"d first c",Tt],["swap",`${x} ${x}`,"d e",St],["copy",x,"d",Pt],["sort",`${x} (up|down) ${P}`,"c up name",Mt],["only",`(${Je})`,"c-on",zt],["column",`${x} ${P} \\| ${P}`,"t Priority | low",It],["drop",`${x} ${P}`,"t Price",Lt],["head",`${x} ${P} \\| ${P}`,"t Price | Cost",Ct]].map(([e,t,n,r])=>[e,{form:new RegExp(`^(?:${t})$`,"u"),example:n,run:r}])),Mn=`That text does not fit here: use up to ${V} characters, without |.`,Qe=["dark","sepia","contrast"];function pe(e,t){switch(t.type){case"set":return`set ${t.slot} ${t.word}`;case"toggle":{const n=T(e,t.slot);return n===void 0?null:`${p(n,"on")===void 0?"set":"clear"} ${t.slot} on`}case"rename":{const n=T(e,t.slot);return n===void 0?null:Dt(e,n,t.says.map($e))}case"add":return me(e,t.slot,t.text);case"remove":return`del ${t.slot}`;case"move":{const n=Rt(e,t.slot,t.by);return n===void 0?null:`swap ${t.slot} ${n.id}`}case"sort":return`sort ${t.slot} ${ge(e,t.slot,t.by)==="up"?"down":"up"} ${t.by}`;case"filter":{const n=T(e,t.slot);return n===void 0?null:B(n,t.by)}case"theme":return Qe.includes(t.name)?`set ${e.id} ${t.name}`:`clear ${e.id} theme`;case"navigate":{const n=D(e,t.slot);return n===void 0?null:`clear ${n.id}* on
set ${t.slot} on`}case"ask":return null}}function $e(e){return e.replaceAll("|","/").replace(/\s+/gu," ").trim()}function Dt(e,t,n){if(t.kind!=="record"){const[o=""]=n;return o===""||o===t.text?null:`text ${t.id}: ${o}`}const s=(D(e,t.id)?.cells??[]).flatMap((o,i)=>{const l=n[i]||"-";return l===t.cells[i]?[]:[`cell ${t.id} ${o} | ${l}`]});return s.length===0?null:s.join(`
`)}function me(e,t,n){const[r,s]=[T(e,t),$e(n)];return r===void 0||s===""?null:r.kind==="table"?`add last ${t} record: ${[s,...r.cells.slice(1).map(()=>"-")].join(" | ")}`:`add last ${t} ${r.children.at(-1)?.kind??"checkbox"}: ${s}`}function Rt(e,t,n){const s=(D(e,t)?.children??[]).filter(o=>o.id===t||p(o,"hidden")===void 0);return s[s.findIndex(o=>o.id===t)+n]}function ge(e,t,n){const r=l=>T(l,t)?.children.map(d=>d.id).join(","),s=l=>r(H(e,`sort ${t} ${l} ${n}`))===r(e),[o,i]=[s("up"),s("down")];return o===i?null:o?"up":"down"}const Nt=/^(?:all|any|every\w*|show all|alle)$/i,Ve=/\b(?:done|completed?|finished|checked|ticked)\b/i,_t=/\b(?:open|active|undone|pending|unfinished|to ?do|not done|left)\b/i;function B(e,t){const{id:n}=e;if(e.children.length===0)return null;if(t===""||Nt.test(t))return`only ${n}*`;const r=t.toLowerCase();for(const[a,c]of e.kind==="table"?e.cells.entries():[]){const u=e.children.map(m=>m.cells[a]??"").find(m=>m.toLowerCase()===r);if(u!==void 0)return`only ${n}[${c} | ${u}]`}const s=e.children.some(a=>q(a).properties.includes("on"));if(s&&_t.test(t))return`only ${n}-on`;if(s&&Ve.test(t))return`only ${n}+on`;const o=a=>[a.text,...a.cells].join(" ").toLowerCase().includes(r),[i,l]=[e.children.filter(o),e.children.filter(a=>!o(a))],d=(a,c,u)=>c.length===0?[]:[`${a} ${c.map(m=>m.id).join(",")} ${u}`];return[...d("clear",i,"hidden"),...d("set",l,"hidden")].join(`
`)}function be(e,t){const n=i=>i.kind==="list"||i.kind==="table",r=D(e,t)?.children.find(n);if(r!==void 0)return r;const s=[...g(e)],o=s.findIndex(i=>i.id===t);return s.slice(0,o).findLast(n)??s.find(n)}function Ut(e,t){const n=D(e,t)?.children??[],r=n.findIndex(s=>s.id===t);return n.slice(0,r).filter(s=>["input","select","slider"].includes(s.kind))}function Ze(e,t,n){const r=T(e,t);if(r===void 0)return{};const s=r.text.toLowerCase(),o=be(e,t),i=Ut(e,t),l=i.map(u=>u.id),d=D(e,t);if(i.length>0&&o?.kind==="table"&&!/^(?:search|find|filter)/.test(s)){const u=Kt(o,i,n);if(u!==null)return{program:u,clears:l}}if(/^(?:\+|add|new|create|insert|save|ok$)/.test(s)&&o!==void 0&&i.length<=1){const u=i[0]??[...g(e)].find($=>$.kind==="input");if(u===void 0)return{ask:r.text};const m=me(e,o.id,n[u.id]??"");return m===null?{say:`Type in “${u.text}” what to add`}:{program:m,clears:[u.id]}}const a=/\b(dark|light|sepia|contrast)\b/.exec(s)?.[1];if(a!==void 0){const u=p(e,"theme")===a;return{program:pe(e,{type:"theme",name:u?"light":a})??""}}if(/^(?:reset|cancel)\b/.test(s)&&l.length>0)return{clears:l};if(d?.kind==="card"&&/^(?:delete|remove|close|dismiss)$/.test(s))return{program:`del ${d.id}`};if(d?.kind==="card"&&/^(?:copy|duplicate)$/.test(s))return{program:`copy ${d.id}`};const c=o===void 0?null:Ft(o,s,i,n);return c!==null?Wt(e,c):i.length>0?{say:Ht(r,i,n)}:{ask:r.text+(d?.kind==="card"?`: ${d.text}`:"")}}function Ht(e,t,n){const r=t.find(s=>p(s,"required")!==void 0&&!n[s.id]?.trim());return r!==void 0?`Fill in “${r.text}”`:`“${e.text}” does nothing here: apps made on this page send nothing anywhere. What you typed stays.`}function Wt(e,t){try{return H(e,t),{program:t}}catch(n){if(n instanceof f)return{say:"There is nothing to do that to"};throw n}}function Ft(e,t,n,r){const s=/^(?:clear|delete|remove|empty)\b/.test(t);if(s&&Ve.test(t))return`del ${e.id}+on`;if(s&&/\b(?:all|everything|list)\b/.test(t))return`del ${e.id}*`;if(/^sort\b/.test(t)){const o=e.cells.find(i=>t.includes(i.toLowerCase()))??e.cells[0]??"name";return`sort ${e.id} up ${o}`}return/^(?:untick|uncheck|reset|clear)\b/.test(t)?`clear ${e.id}* on`:/^(?:tick|check|complete|finish|mark)\b.*\ball\b/.test(t)?`set ${e.id}* on`:/^(?:search|find|filter)\b/.test(t)&&n[0]!==void 0?B(e,r[n[0].id]??""):/^(?:show|only|view)?\s*(?:all|open|active|done|completed)$/.test(t)?B(e,t.replace(/^(?:show|only|view)\s*/,"")):null}function Kt(e,t,n){const r=e.cells.map(o=>o.toLowerCase());if(!t.every(o=>r.includes(o.text.toLowerCase())))return null;const s=r.map(o=>{const i=t.find(l=>l.text.toLowerCase()===o);return(i===void 0?"":$e(n[i.id]??""))||"-"});return s.every(o=>o==="-")?null:`add last ${e.id} record: ${s.join(" | ")}`}function Bt(e,t,n){const r=T(e,t),s=D(e,t)?.children??[],o=s.slice(s.findIndex(d=>d.id===t)).find(d=>d.kind==="button"),i=be(e,t);if(r!==void 0&&i!==void 0&&p(r,"type")==="search")return{program:B(i,n[t]??"")??""};if(o!==void 0)return Ze(e,o.id,n);const l=i===void 0?null:me(e,i.id,n[t]??"");return l===null?{}:{program:l,clears:[t]}}function Gt(e,t,n){const r=T(e,t);if(r===void 0)return{};const s=n.toLowerCase();if(Qe.includes(s)||s==="light")return{program:pe(e,{type:"theme",name:s})??""};const o=be(e,t);if(o===void 0)return{};if(/\b(?:sort|order)/i.test(r.text)){const d=o.cells.find(a=>a.toLowerCase()===s)??(o.kind==="list"?"name":null);return d===null?{}:{program:`sort ${o.id} up ${d}`}}const i=B(o,n),l=i?.startsWith("set ")===!0&&!i.includes(`
`);return i===null||l?{}:{program:i}}const Xt=`
> `,qe=5,Yt=.9,Jt=/\b(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last|\d+(?:st|nd|rd|th)|(?:number|item|task|entry) \d+)\b/i,Qt=/[^\p{Script=Latin}\p{Script=Common}\p{Script=Inherited}]|\p{Extended_Pictographic}(?<![\d#*©®™])/u,Vt=/\b(?:all|both|every\w*|whole|entire|them|these|those|it|this|that|lists?|tables?|rows?|tabs?|cards?|sections?|columns?|groups?|windows?|forms?|panels?|box(?:es)?)\b/i,Zt=/^(?:please |also )*(?:add|insert|append|new)\b(?!.*\b(?:and|then|instead)\b)/i,de="two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen".split(" "),en=new RegExp(`\\b(\\d{1,2}|${de.join("|")}) (?:[a-z-]+ )?(?:items|tasks|entries|things|chores|rows|points|steps|lines|jobs)\\b`,"gi"),tn=2,zn="The model changed nothing: it is so already, or say it in other words.";class F extends Error{constructor(){super(...arguments),this.name="NotUnderstood"}}function nn(e,t,n){if(!Jt.test(n)||/\bhidden\b/i.test(n))return!1;const r=new Set([...g(e)].filter(s=>p(s,"hidden")!==void 0).map(({id:s})=>s));return t.split(`
`).some(s=>{const[,o=""]=s.split(" ");return!s.endsWith(" hidden")&&o.split(",").some(i=>r.has(i))})}function rn(e,t,n){if(Vt.test(n))return null;const r=new Set(t.split(`
`).flatMap(l=>/^del ([a-z,]+)$/.exec(l)?.[1]?.split(",")??[])),s=n.toLowerCase(),o=l=>[l.kind,...l.text.toLowerCase().split(" ")];return[...g(e)].filter(({id:l,children:d})=>r.has(l)&&d.length>0).find(l=>!o(l).some(d=>d!==""&&s.includes(d)))??null}function sn(e,t,n){if(!Zt.test(n))return!1;const r=new Map([...g(t)].map(o=>[o.id,o])),s=({kind:o,text:i,cells:l})=>o==="record"?l[0]:i;return[...g(e)].some(o=>{const i=r.get(o.id);return i===void 0||o.kind!=="page"&&s(i)!==s(o)})}function et(e){return[...g(e)].filter(({kind:t})=>t==="list"||t==="table")}function tt(e,t){const[n,...r]=[...t.matchAll(en)].map(([,i=""])=>i.toLowerCase()),[s,...o]=et(e);return n===void 0||r.length>0||s===void 0||o.length>0?null:s.children.length-(de.includes(n)?de.indexOf(n)+2:Number(n))}function on(e,t){const n=tt(e,t)??0;if(n<=0)return e;const r=et(e).flatMap(({children:s})=>s.slice(-n).map(({id:o})=>o));return H(e,`del ${r.join(",")}`)}function In(e,t,{page:n,program:r}){return r===null||e===null||e===t?n:H(e,r)}function se(e){return lt()&&p(e,"theme")===void 0?H(e,`set ${e.id} dark`):e}function Ln({sfumato:e}){return e.tasks.includes("ui_screen")}async function Cn(e,t,n,r={}){const{page:s=null,seed:o=0,steps:i,signal:l,onDraft:d}=r,a=n.replace(/\s+/gu," ").trim();if(Qt.test(a))throw new F("The model reads Latin letters and no emoji, so nothing changed.");const c=s===null?`screen: ${a}`:I(Ue(s))+Xt+a,u=performance.now(),m={model:t,prompt:c,...i===void 0?{}:{steps:i}};let $={...m,seed:o};const M=A=>({...m,seed:o+A,temperature:Yt});let[ee,ye]=["",""];for(let A=1;A<=qe;A++){const{text:v,usage:ve,reason:te}=await ot(e.stream({...$,every_step:!1},l),j=>{if(s!==null||d===void 0)return;const E=Oe(it(j));E!==null&&d(se(E),j)});if(s!==null&&te==="steps")throw new F("The model is not sure what that means, so nothing changed. Try other words.");if(Ge(v))throw new F(`The model declines: ${v.replace("refuse: ","")}.`);try{if(s===null&&te==="length")throw new f("it does not end");const j=s===null?se(on(yt(v),a)):H(s,v);if(s===null&&A===1&&(tt(j,a)??0)<0){$={...m,seed:o+A};continue}const E=s===null?null:rn(s,v,a);if(E!==null){const st=`the ${E.kind}${E.text===""?"":` “${E.text}”`}`;throw new F(`The model would delete ${st}, which you did not name, so nothing changed.`)}if(s!==null&&sn(s,j,a))throw new f("it changes what is there");if(s!==null&&nn(s,v,a))throw new f("it means what is hidden");if(s!==null&&A<qe&&v!==ye&&I(j)===I(s)){[ye,$]=[v,M(A)];continue}return{page:j,program:s===null?null:v,usage:ve,ms:performance.now()-u}}catch(j){if(!(j instanceof f))throw j;ee=j.message;const E=s===null&&A>1&&te!=="length"?Oe(v):null;if(E!==null&&I(E).split(`
`).length>=v.split(`
`).length-tn)return{page:se(E),program:null,usage:ve,ms:performance.now()-u};$=s===null?ln(m,$,v,ee,o+A):M(A)}}const rt=s===null?"no screen that can be shown":"no change that fits this screen";throw new F(`The model wrote ${rt}; say it in other words.`,{cause:ee})}function ln(e,t,n,r,s){const o=Number(/^line (\d+)/.exec(r)?.[1]??0),i=n.split(`
`);if(!i[o-1]||t.text!==void 0)return{...e,seed:s};const l=i.slice(0,o-1).reduce((a,c)=>a+c.length+1,0),d=l+(i[o-1]?.length??0);return ft(t,n,ht([[l,d]],n.length),s)}const Me=3,ze=2;function O({kind:e,text:t,cells:n}){const r=t||(e==="record"?n[0]??"":"");return r===""?`the ${e}`:`“${r}”`}function dn(e,t,n){switch(t){case"on":return e.kind==="tab"?n===void 0?null:"opened":n===void 0?"unticked":"ticked";case"hidden":return n===void 0?"showed":"hid";case"marked":return n===void 0?"unmarked":"marked";case"value":return`set to ${n??0}:`;case"theme":return`${n??"light"} theme for`;default:return n===void 0?`no ${t} any more:`:`made ${n}:`}}class an{constructor(){this.named=new Map}add(t,n){this.named.set(t,[...this.named.get(t)??[],n])}words(){const t=[...this.named].map(([r,s])=>{const o=s.length-ze,i=o>1?s.slice(0,ze):s;return`${r} ${i.join(", ")}${o>1?` and ${o} more`:""}`}),n=t.length-Me;return t.slice(0,Me).join("; ")+(n>0?`; and ${n} more changes`:"")}}function Ie(e,t){const n=new an,[r,s]=[Le(e),Le(t)];for(const[o,{component:i,holder:l}]of r)!s.has(o)&&(l===null||s.has(l))&&n.add("removed",O(i));for(const[o,{component:i,holder:l}]of s){const d=r.get(o);if(d===void 0){(l===null||r.has(l))&&n.add("added",O(i));continue}if(d.holder!==l&&n.add("moved",O(i)),cn(d.component,i,n),fn(d.component,i,t,n),d.component.cells.join("|")!==i.cells.join("|")){const a=l===null?void 0:s.get(l)?.component,c=l===null?void 0:r.get(l)?.component;a?.cells.length===c?.cells.length&&un(d.component,i,a,n)}}return n.words()}function Le(e){const t=new Map([[e.id,{component:e,holder:null}]]);for(const n of g(e))for(const r of n.children)t.set(r.id,{component:r,holder:n.id});return t}function cn(e,t,n){e.kind!==t.kind?n.add("replaced",O(e)):e.text!==t.text&&n.add(`renamed ${O(e)} to`,O(t));const r=new Set([e,t].flatMap(s=>s.words.map(o=>_(q(s),o)??"")));for(const s of r){const o=p(t,s);if(p(e,s)===o)continue;const i=dn(t,s,o);i!==null&&n.add(i,t.kind==="page"?"the screen":O(t))}}function un(e,t,n,r){const[s]=t.cells.filter(i=>!e.cells.includes(i)),[o]=e.cells.filter(i=>!t.cells.includes(i));t.kind==="record"?t.cells.forEach((i,l)=>{i!==e.cells[l]&&r.add(`${n?.cells[l]??""} is now ${i}:`,O(e))}):t.kind!=="table"?r.add("changed",O(t)):s!==void 0&&o!==void 0?r.add(`renamed the column “${o}” to`,`“${s}”`):r.add(`${o===void 0?"added":"removed"} the column`,`“${s??o??""}”`)}function fn(e,t,n,r){const s=(a,c)=>a.children.filter(({id:u})=>c.children.some(m=>m.id===u)),[o,i]=[s(e,t),s(t,e)],l=a=>a.map(({id:c})=>c).join(",");if(l(o)===l(i))return;const d=i.filter(a=>{const c=u=>l(u.filter(({id:m})=>m!==a.id));return c(o)===c(i)});if(d.length===0){const c=(t.kind==="table"?t.cells:t.kind==="list"?["name"]:[]).find(u=>ge(n,t.id,u)!==null);r.add(c===void 0?"put in another order:":`sorted by ${c}:`,O(t))}for(const a of d)r.add(d.length>1?"swapped":"moved",O(a))}function hn(e,t){const n=r=>I(r).replace(/^( *[a-z]+ checkbox) on/gm,"$1");return I(e)!==I(t)&&n(e)===n(t)}function Dn(e){const t=[];return e.forEach(({page:n,said:r,ms:s},o)=>{const i=(s??0)>0?void 0:e[o-1]?.page,l=i!==void 0&&hn(i,n),d=t.at(-1),a=e[(d?.first??0)-1];if(l&&d?.isTicks===!0&&a!==void 0){const u=Ie(a.page,n)||"ticked and unticked again";t.splice(-1,1,{...d,last:o,said:u});return}const c=i===void 0?"":Ie(i,n);t.push({said:c||r,first:o,last:o,isTicks:l})}),t}const[we,nt,N]=[320,150,122];function pn(e){return e.cells.map(t=>{const n=/^(.*?)[ :]*(-?\d+(?:\.\d+)?)\D*$/u.exec(t);return{label:(n?.[1]??t)||t,value:n===null?0:Number(n[2])}})}function $n(e){const t=pn(e),n=p(e,"type")??"bar",r=t.map(({label:o,value:i})=>`${o} ${i}`).join(", ")||"no values yet",s=t.length===0?mn():n==="pie"?bn(t):gn(t,n==="line");return h`<svg
    viewBox="0 0 ${we} ${nt}"
    role="img"
    aria-label="${e.text}, ${n} chart: ${r}"
  >
    ${s}
  </svg>`}function mn(){return z`<path class="axis" d="M20 ${N}H300"></path>
    <text x=${we/2} y=${nt/2} text-anchor="middle">no values yet</text>`}function gn(e,t){const n=Math.max(...e.map(({value:i})=>i),1),r=(we-40)/e.length,s=e.map(({label:i,value:l},d)=>({label:i,value:l,x:20+r*(d+.5),y:N-Math.max(0,l)/n*(N-24)})),o=z`<polyline class="line" points=${s.map(({x:i,y:l})=>`${i},${l}`).join(" ")}></polyline>`;return z`<path class="axis" d="M20 ${N}H300"></path>
    ${t?o:null}
    ${s.map(({label:i,value:l,x:d,y:a})=>{const c=Math.min(48,r*.6),u=t?z`<circle class="fill" cx=${d} cy=${a} r="4"></circle>`:z`<rect class="fill" x=${d-c/2} y=${a} width=${c} height=${N-a} rx="3"></rect>`;return z`${u}<text x=${d} y=${a-7} text-anchor="middle">${l}</text>
        <text x=${d} y=${N+18} text-anchor="middle">${i}</text>`})}`}function bn(e){const t=e.reduce((r,{value:s})=>r+Math.max(0,s),0)||1;let n=0;return z`${e.map(({label:r,value:s},o)=>{const i=100*Math.max(0,s)/t,l=n;return n+=i,z`<circle class="slice" style="--n: ${o}" cx="80" cy="75" r="31" pathLength="100"
        stroke-dasharray="${i} ${100-i}" stroke-dashoffset=${-l}></circle>
      <rect class="key" style="--n: ${o}" x="165" y=${22+o*24} width="12" height="12" rx="3"></rect>
      <text x="184" y=${32+o*24}>${r} ${s}</text>`})}`}const wn=Ce`
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
`,yn=Ce`
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
`,vn=[wn,yn];var xn=Object.defineProperty,kn=Object.getOwnPropertyDescriptor,W=(e,t,n,r)=>{for(var s=r>1?void 0:r?kn(t,n):t,o=e.length-1,i;o>=0;o--)(i=e[o])&&(s=(r?i(t,n,s):i(s))||s);return r&&s&&xn(t,n,s),s};const An={up:"ascending",down:"descending"};let C=class extends ct{constructor(){super(...arguments),this.page=null,this.bound={},this.draft=!1,this.theme="light",this.editing=null,this.changed=new Set,this.deleted=null}willUpdate(e){if(!e.has("page"))return;const t=e.get("page"),n=new Map(t?[...g(t)].map(s=>[s.id,le(s)]):[]),r=this.page===null||n.size===0||this.draft?[]:[...g(this.page)];this.changed=new Set(r.filter(s=>n.get(s.id)!==le(s)).map(({id:s})=>s))}render(){const e=this.page;if(e===null)return S;const t=e.children.some(n=>n.kind==="header");return h`<section
      class="page theme-${p(e,"theme")??this.theme}"
      data-slot=${e.id}
      aria-label=${e.text===""?"Screen":e.text}
      ?inert=${this.draft}
    >
      ${e.text===""||t?S:h`<h2>${e.text}</h2>`} ${this.inside(e)}
    </section>`}inside(e){const t=R(e.children);return Y(t,n=>n.id,n=>h`<div class=${this.classes(n)} data-slot=${n.id}>${this.body(n)}</div>`)}classes(e){const t=p(e,"color");return["slot",e.kind,...e.words.filter(n=>n!==t&&!/^\d/.test(n)),...t===void 0?[]:["coloured",`c-${t}`],...this.changed.has(e.id)?["changed"]:[]].join(" ")}body(e){switch(e.kind){case"header":return h`<h2>${e.text}</h2>`;case"text":return this.text(e);case"badge":return h`<span>${e.text}</span>`;case"divider":return h`<hr />`;case"button":return h`<button
          ?disabled=${p(e,"disabled")!==void 0}
          @click=${()=>{this.clicked(e.id,"press")&&this.effect(Ze(this.shown(),e.id,this.values()))}}
        >
          ${e.text}
        </button>`;case"list":return this.list(e);case"checkbox":return this.checkbox(e);case"input":return this.input(e);case"select":return this.select(e);case"slider":return this.slider(e);case"progress":return h`<label
          ><span>${e.text} <span class="figures">${p(e,"value")??0}%</span></span>
          <progress max="100" value=${p(e,"value")??0}></progress
        ></label>`;case"table":return this.table(e);case"tabs":return this.tabs(e);case"chart":return h`<h3>${e.text}</h3>
          ${$n(e)}`;case"image":return this.image(e);case"card":return h`${e.text===""?S:h`<h3>${e.text}</h3>`}${this.inside(e)}`;default:return this.inside(e)}}text(e){const{value:t}=this.bound[e.id]??{};return t===void 0?h`<p>${e.text}</p>`:h`<pre role="log" aria-label=${e.text} tabindex="0">${t}</pre>`}list(e){const t=R(e.children),n=Y(t,r=>r.id,r=>h`<li
          class=${this.classes(r)}
          data-slot=${r.id}
          @keydown=${s=>this.onEntryKey(s,r.id)}
          @focusout=${s=>this.onEntryLeft(s,r.id)}
        >
          ${this.editing===r.id?this.edited(r.text,"Text"):r.kind==="checkbox"?this.checkbox(r):this.item(r)}
          ${this.tools(r,r.text)}
        </li>`);return h`${e.text===""?S:h`<h3>${e.text}</h3>`}
    ${p(e,"numbered")===void 0?h`<ul>
            ${n}
          </ul>`:h`<ol>
            ${n}
          </ol>`}
    ${this.hiddenNote(e)}`}item({id:e,text:t}){return this.bound[e]?.opens!==!0?h`<span class="says">${t}</span>`:h`<button class="quiet says" @click=${()=>this.clicked(e,"open",t)}>${t}</button>`}tools({id:e},t){return this.editing===e?S:h`<span class="tools"
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
      maxlength=${V}
      autocomplete="off"
      .value=${e}
    />`}hiddenNote(e){const t=e.children.length-R(e.children).length;return t===0?S:h`<p class="hidden-note">
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
    >`}input(e){const{value:t,isLong:n=!1,isReadonly:r=!1,earlier:s}=this.bound[e.id]??{},o=l=>{t!==void 0&&this.clicked(e.id,"input",l.target.value)},i=l=>{const d=l.target,a={ArrowUp:-1,ArrowDown:1}[l.key];if(a!==void 0&&s!==void 0){l.preventDefault();const c=Number(d.dataset.at??s.length)+a;if(c<0||c>s.length)return;d.dataset.at=String(c),d.value=s[c]??""}l.key!=="Enter"||l.isComposing||(delete d.dataset.at,t!==void 0?o(l):this.clicked(e.id,"enter",d.value)?this.effect(Bt(this.shown(),e.id,this.values())):d.value="")};return h`<label
      ><span>${e.text}${p(e,"required")===void 0?"":" *"}</span>
      ${n?h`<textarea
              data-field=${e.id}
              rows="12"
              spellcheck="false"
              ?readonly=${r}
              .value=${X(t??"")}
              @input=${o}
            ></textarea>`:h`<input
              data-field=${e.id}
              type=${p(e,"type")??"text"}
              autocomplete="off"
              ?required=${p(e,"required")!==void 0}
              ?disabled=${p(e,"disabled")!==void 0}
              .value=${t===void 0?S:X(t)}
              @change=${o}
              @keydown=${i}
            />`}
    </label>`}select(e){const{value:t,options:n=e.cells}=this.bound[e.id]??{};return h`<label
      ><span>${e.text}</span>
      <select
        data-field=${e.id}
        ?disabled=${p(e,"disabled")!==void 0}
        @change=${r=>{const s=r.target.value;this.clicked(e.id,"choose",s)&&this.effect(Gt(this.shown(),e.id,s))}}
      >
        ${n.map(r=>t===void 0?h`<option>${r}</option>`:h`<option .selected=${r===t}>${r}</option>`)}
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
    /></label>`}table(e){const t=R(e.children),n=Y(t,s=>s.id,s=>h`<tr
          class=${this.classes(s)}
          data-slot=${s.id}
          @keydown=${o=>this.onEntryKey(o,s.id)}
          @focusout=${o=>this.onEntryLeft(o,s.id)}
        >
          ${s.cells.map((o,i)=>h`<td class=${/^-?\d/.test(o)?"number":""}>
                ${this.editing===s.id?this.edited(o,e.cells[i]??""):o}
                ${i===s.cells.length-1?this.tools(s,s.cells[0]??""):S}
              </td>`)}
        </tr>`),r=e.cells.map(s=>{const o=this.draft?null:ge(this.shown(),e.id,s);return h`<th scope="col" aria-sort=${o===null?"none":An[o]}>
        <button class="quiet" @click=${()=>this.act({type:"sort",slot:e.id,by:s})}>
          ${s}<span aria-hidden="true">${o===null?"":o==="up"?" ↑":" ↓"}</span>
        </button>
      </th>`});return h`<div class="scroll" tabindex="0" role="region" aria-label=${e.cells.join(", ")}>
        <table>
          <thead>
            <tr>
              ${r}
            </tr>
          </thead>
          <tbody>
            ${n}
          </tbody>
        </table>
      </div>
      ${this.hiddenNote(e)}`}tabs(e){const t=R(e.children),n=t.find(s=>p(s,"on")!==void 0)??t[0];return n===void 0?S:h`<div role="tablist" @keydown=${s=>{const o={ArrowRight:1,ArrowLeft:-1}[s.key],i=o===void 0?void 0:t[(t.indexOf(n)+o+t.length)%t.length];i!==void 0&&(s.preventDefault(),this.act({type:"navigate",slot:i.id}),this.updateComplete.then(()=>this.renderRoot.querySelector(`#tab-${i.id}`)?.focus()))}}>
        ${Y(t,s=>s.id,s=>h`<button
              class="quiet"
              role="tab"
              id="tab-${s.id}"
              data-slot=${s.id}
              aria-selected=${String(s===n)}
              aria-controls="panel-${e.id}"
              tabindex=${s===n?0:-1}
              @click=${()=>this.act({type:"navigate",slot:s.id})}
            >
              ${s.text}
            </button>`)}
      </div>
      <div role="tabpanel" id="panel-${e.id}" aria-labelledby="tab-${n.id}" tabindex="0">
        ${this.inside(n)}
      </div>`}image(e){return h`<div class="picture" role="img" aria-label="Place of a picture: ${e.text}">
      <span aria-hidden="true">${e.text}</span>
    </div>`}onEntryKey(e,t){if(e.isComposing)return;if(this.editing===t){if(e.key!=="Enter"&&e.key!=="Escape")return;e.key==="Enter"&&this.save(t),this.editing=null,e.preventDefault(),this.updateComplete.then(()=>this.renderRoot.querySelector(`[data-edits="${t}"]`)?.focus());return}const n=e.altKey?{ArrowUp:-1,ArrowDown:1}[e.key]:void 0;if(e.key==="Delete")this.act({type:"remove",slot:t});else if(e.key==="F2")this.editing=t;else if(n!==void 0)this.act({type:"move",slot:t,by:n});else return;e.preventDefault()}onEntryLeft(e,t){const[n,r]=[e.currentTarget,e.target],s=n.contains(e.relatedTarget);this.editing===t&&r.matches("[data-edited]")&&!s&&this.save(t)}save(e){const t=this.renderRoot.querySelectorAll("[data-edited]");this.editing=null,this.act({type:"rename",slot:e,says:[...t].map(({value:n})=>n)})}focusField(){this.renderRoot.querySelector("[data-field]")?.focus()}shown(){if(this.page===null)throw new Error("there is no page");return this.page}values(){const e=[...this.renderRoot.querySelectorAll("[data-field]")];return Object.fromEntries(e.map(t=>[t.dataset.field??"",t.value]))}clicked(e,t,n=""){const r={element:e,type:t,value:n};return this.dispatchEvent(new CustomEvent("sf-click",{detail:r,bubbles:!0,composed:!0,cancelable:!0}))}act(e){const t="by"in e?String(e.by):"",n="word"in e?e.word:"says"in e?e.says.join(" | "):t;if(!this.clicked(e.slot,e.type,n))return;e.type==="remove"&&this.noteDeleted(e.slot);const r=pe(this.shown(),e);r!==null&&this.effect({program:r})}noteDeleted(e){const t=this.shadowRoot?.activeElement?.closest(`[data-slot="${e}"]`),n=[...this.renderRoot.querySelectorAll(".remove")];t&&(this.deleted={id:e,place:n.findIndex(r=>t.contains(r))})}updated(e){const{deleted:t,page:n}=this;this.editing!==null&&e.has("editing")&&this.renderRoot.querySelector("[data-edited]")?.select(),t!==null&&n!==null&&T(n,t.id)===void 0&&(this.deleted=null,pt(this.renderRoot,".remove",t.place));for(const r of this.renderRoot.querySelectorAll("pre"))r.scrollTop=r.scrollHeight}effect(e){const t=new CustomEvent("sf-effect",{detail:e,bubbles:!0,composed:!0,cancelable:!0});for(const n of this.dispatchEvent(t)?e.clears??[]:[]){const r=this.renderRoot.querySelector(`[data-field="${n}"]`);r!==null&&r.type!=="range"&&(r.value="")}this.requestUpdate()}};C.styles=[dt,vn];W([Q({attribute:!1})],C.prototype,"page",2);W([Q({attribute:!1})],C.prototype,"bound",2);W([Q({type:Boolean})],C.prototype,"draft",2);W([Q()],C.prototype,"theme",2);W([at()],C.prototype,"editing",2);C=W([ut("sf-screen")],C);export{Mn as M,F as N,f as P,zn as U,We as a,tt as b,Ie as c,Cn as d,H as e,p as g,Dn as h,Ln as i,Ke as n,In as o,yt as p,T as s,I as t,R as v,g as w};
