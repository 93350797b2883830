/** What other forms of stacks have in common. */
export interface OtherForm {
  element: HTMLElement;
  /** Asks for what it shows. */
  load(): void;
  /** It is out of sight. */
  hide?(): void;
}
