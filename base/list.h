/* SPDX-License-Identifier: Apache-2.0 */
/* An intrusive doubly linked ring: the node lies inside the element, the head is a node too. */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *next, *prev;
};

#define container_of(node, type, member) ((type *)(void *)((char *)(node)-offsetof(type, member)))

static inline void list_init(struct list *l)
{
    l->next = l->prev = l;
}

/* True for an empty head, and for a node that is in no list. */
static inline bool list_empty(const struct list *l)
{
    return l->next == l;
}

static inline void list_add_tail(struct list *head, struct list *node)
{
    node->prev = head->prev;
    node->next = head;
    head->prev->next = node;
    head->prev = node;
}

static inline void list_add_head(struct list *head, struct list *node)
{
    list_add_tail(head->next, node);
}

/* Takes the node out; a node in no list stays so. */
static inline void list_sub(struct list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    list_init(node);
}

/* All of them, in their order, behind that node of another list, or at its head. */
static inline void list_move_all(struct list *from, struct list *after)
{
    if (list_empty(from))
        return;
    from->next->prev = after;
    from->prev->next = after->next;
    after->next->prev = from->prev;
    after->next = from->next;
    list_init(from);
}

static inline struct list *list_first(const struct list *head)
{
    return list_empty(head) ? NULL : head->next;
}

#define list_for_each(it, head) for (struct list *it = (head)->next; it != (head); it = it->next)
#define list_for_each_safe(it, head)                                                               \
    for (struct list *it = (head)->next, *it##_next = it->next; it != (head);                      \
         it = it##_next, it##_next = it->next)

#endif
