/* SPDX-License-Identifier: Apache-2.0 */
/* The status page (status_page.html), as it is sent. */
#ifndef NODE_STATUS_PAGE_H
#define NODE_STATUS_PAGE_H

#include <stddef.h>

extern const unsigned char status_page[];
extern const size_t status_page_len;

#endif
