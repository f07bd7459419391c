/** The themes of screens: each has its surfaces and its shades of the ten colours. */
import { css } from "lit";

export const themes = css`
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
`;
