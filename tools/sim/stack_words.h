/* SPDX-License-Identifier: Apache-2.0 */
/* One option's value as the words of a command line. */
#ifndef TOOLS_STACK_WORDS_H
#define TOOLS_STACK_WORDS_H

/* `first`, the words of text, and NULL behind them; *count is without it. Words end at white space;
 * '…' and "…" keep it. NULL when memory is out, or, with *count -1, when a quote is left open. The
 * caller's, with each word, to free. */
char **stack_words(const char *const *first, const char *text, int *count);
void stack_words_free(char **words); /* NULL is allowed */

/* Has it the long option --name? */
int stack_words_have(char *const *words, const char *name);

#endif
