/* SPDX-License-Identifier: Apache-2.0 */
/* The key `sandbox`: what a node's process can still do (os/process/sandbox.h), from its
 * configuration. */
#ifndef NODE_SANDBOX_H
#define NODE_SANDBOX_H

#include "node/node.h"

/*
 * Before anything is opened and any thread is made: files only where the configuration names some.
 * These are the directories of what its keys name (so that files can be replaced, logs rotated and
 * sockets made anew), the store's own, which is made, and what the C library and OpenSSL read. What
 * the kernel lacks is said; the node goes on without it. Nothing but with sandbox: on.
 */
void node_sandbox_files(struct node *n);
/* When it has started: system calls. */
void node_sandbox_calls(struct node *n);

#endif
