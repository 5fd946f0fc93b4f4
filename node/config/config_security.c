/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each rule is read by its table, then made into a struct security_rule. What can go wrong: a
 * target that hops change, an operation that a forwarding node cannot verify, a key without a
 * folder.
 */

#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "node/config/config_tables.h"

#define AT(field) offsetof(struct config_security, field)

const struct conf_option config_security_options[] = {
    {.key = "from",
     .type = OPTION_TEXT,
     .offset = AT(from),
     .initial = "*",
     .help = "sources of the bundles: an endpoint id, ipn:2.*, ipn:[1-5,7].*, dtn://name/*, or *"},
    {.key = "to",
     .type = OPTION_TEXT,
     .offset = AT(to),
     .initial = "*",
     .help = "their destinations, likewise"},
    {.key = "role",
     .type = OPTION_CHOICE,
     .offset = AT(role),
     .choices = "source|verifier|acceptor",
     .help = "source: adds the operation to bundles that start here and leave; verifier: verifies "
             "it in arriving bundles and leaves it there; acceptor: verifies and removes it, or "
             "decrypts"},
    {.key = "target",
     .type = OPTION_TEXT,
     .offset = AT(target),
     .initial = "payload",
     .help = "the protected block: payload, primary, or the type number of an extension block"},
    {.key = "context",
     .type = OPTION_CHOICE,
     .offset = AT(context),
     .choices = "bib-hmac-sha2|bcb-aes-gcm|bib-cose|bcb-cose",
     .help = "the operation: a signature (bib) or encryption (bcb), by RFC 9173 or by COSE "
             "(draft-ietf-dtn-bpsec-cose); the key says with which algorithm"},
    {.key = "scope",
     .type = OPTION_TEXT,
     .offset = AT(scope),
     .initial = "all",
     .help = "headers that the operation covers beside the target: all, none, or of primary, "
             "target and security, with commas between; at a verifier or acceptor: at least these"},
    {.key = "key",
     .type = OPTION_TEXT,
     .offset = AT(key),
     .help = "the id of a key in the folder security_keys"},
    {.key = "on_failure",
     .type = OPTION_CHOICE,
     .offset = AT(reaction),
     .choices = "drop_bundle|drop_block|report",
     .initial = "drop_bundle",
     .help = "drop_bundle: the bundle is deleted; drop_block: an extension block is removed; "
             "report: deleted, with a status report if the bundle asks for one"},
    {.key = "dry_run",
     .type = OPTION_BOOL,
     .offset = AT(dry_run),
     .initial = "no",
     .help = "failed operations are counted, and the bundle passes"},
    {.key = NULL},
};

static int say_wrong(const char **key, const char *which, char *why, size_t cap, const char *text)
{
    *key = which;
    snprintf(why, cap, "%s", text);
    return HELIO_EINVAL;
}

/* NULL, or what would be right. Hops change the blocks of types 6, 7 and 10 (RFC 9171 §4.4); 11 and
 * 12 are security blocks. */
static const char *read_target(const char *text, uint64_t *out)
{
    *out = strcmp(text, "primary") == 0 ? 0 : 1;
    if (*out == 0 || strcmp(text, "payload") == 0)
        return NULL;
    if (units_count(text, UINT64_MAX, out) != 0 || *out == 0)
        return "write payload, primary, or the type number of a block from 1";
    if (*out == 6 || *out == 7 || *out == 10)
        return "nodes on the way change blocks of types 6, 7 and 10 (previous node, age, hop "
               "count); write another target";
    if (*out == SECURITY_BIB || *out == SECURITY_BCB)
        return "blocks of types 11 and 12 are security blocks; write the block that they protect";
    return NULL;
}

static bool read_scope(const char *text, uint64_t *out)
{
    static const struct {
        const char *word;
        uint64_t bits;
    } words[] = {{"all", SECURITY_SCOPE_ALL},
                 {"none", 0},
                 {"primary", SECURITY_SCOPE_PRIMARY},
                 {"target", SECURITY_SCOPE_TARGET},
                 {"security", SECURITY_SCOPE_SECURITY}};
    size_t n = 0, len;
    *out = 0;
    for (text += strspn(text, ", "); *text != '\0'; text += len, text += strspn(text, ", "), n++) {
        size_t i = 0;
        len = strcspn(text, ", ");
        while (i < 5 && (strlen(words[i].word) != len || strncmp(words[i].word, text, len) != 0))
            i++;
        if (i == 5)
            return false;
        *out |= words[i].bits;
    }
    return n > 0;
}

static const char *find_conflict(const struct security_rule *r, const char **key)
{
    *key = "context";
    if (r->type == SECURITY_BCB && r->role == SECURITY_ROLE_VERIFIER)
        return "a verifier does not decrypt (RFC 9172 §5.1); write role: acceptor, or "
               "bib-hmac-sha2";
    if (r->type == SECURITY_BCB && r->target == 0)
        return "the primary block cannot be encrypted (RFC 9172 §3.8); write bib-hmac-sha2, or "
               "another target";
    return NULL;
}

static int check_rule(void *item, const char **key, char *why, size_t cap)
{
    struct config_security *s = item;
    struct security_rule *r = &s->rule;
    const char *wrong;
    if (config_patterns(key, "from", s->from, &r->from, why, cap) != 0 ||
        config_patterns(key, "to", s->to, &r->to, why, cap) != 0)
        return HELIO_EINVAL;
    if ((wrong = read_target(s->target, &r->target)) != NULL)
        return say_wrong(key, "target", why, cap, wrong);
    if (!read_scope(s->scope, &r->scope))
        return say_wrong(key, "scope", why, cap,
                         "write all, none, or words of primary, target and security");
    if (!security_key_id_valid(s->key))
        return say_wrong(key, "key", why, cap,
                         "write 1 to 63 letters, digits, '-', '_' or '.', as id: of a key file");
    snprintf(r->key, sizeof r->key, "%s", s->key);
    r->role = (enum security_role)s->role;
    r->type = s->context % 2 == 0 ? SECURITY_BIB : SECURITY_BCB;
    r->cose = s->context >= 2;
    r->reaction = (enum security_reaction)s->reaction;
    r->dry_run = s->dry_run;
    wrong = find_conflict(r, key);
    return wrong == NULL ? 0 : say_wrong(key, *key, why, cap, wrong);
}

const struct cla_list config_security_lists[] = {
    {.key = "security",
     .options = config_security_options,
     .item_size = sizeof(struct config_security),
     .max = SECURITY_RULES_MAX,
     .items = offsetof(struct config, security),
     .count = offsetof(struct config, security_len),
     .check = check_rule},
    {.key = NULL},
};

void config_security_check(struct config *c, const struct conf_tree *root,
                           struct conf_errors *errors)
{
    const struct conf_tree *list = conf_child(root, "security");
    const struct conf_tree *t = list != NULL ? list->first : NULL;
    struct config_security *s = c->security;
    for (size_t i = 0; i < c->security_len && t != NULL; i++, t = t->next) {
        s[i].rule.line = t->line;
        if (s[i].rule.role == SECURITY_ROLE_SOURCE && s[i].rule.type == SECURITY_BCB &&
            c->store.durability == STORE_NONE)
            conf_error(errors, t->line,
                       "security.context: a node that encrypts needs a store, where it notes used "
                       "initialization vectors; write store.path, and durability sync or async");
    }
    if (c->security_len > 0 && (c->security_keys == NULL || *c->security_keys == '\0'))
        conf_error(errors, list != NULL ? list->line : root->line,
                   "security_keys: this key is missing; write the folder of the keys that the "
                   "rules name");
}
