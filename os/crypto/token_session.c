/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions with tokens. The modules are loaded once, and again while the token is absent. Opening
 * searches the slots for the one token of the URI, logs in and finds the one secret key. What can
 * go wrong: the operator's settings (module, token, PIN, key), or the token is absent. A token
 * counts wrong PINs and locks itself: so a refused PIN is not tried again, and the last try is left
 * to the operator.
 */
#include "os/crypto/token_session.h"

#include <p11-kit/p11-kit.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/secret.h"
#include "os/secret.h"

enum { SLOTS_MAX = 64, PIN_MAX = 256 };

static int refuse_text(char *why, size_t cap, const char *text)
{
    snprintf(why, cap, "%s", text);
    return HELIO_EFORMAT;
}

/* ---- the URI ---- */

static int set_pin_path(struct token_session *s, const char *folder)
{
    const char *source = p11_kit_uri_get_pin_source(s->uri);
    if (source == NULL)
        return 0;
    if (strncmp(source, "file:", 5) == 0)
        source += 5;
    if (strncmp(source, "//", 2) == 0)
        source += 2;
    const size_t cap = strlen(folder) + strlen(source) + 2;
    s->pin_path = malloc(cap);
    if (s->pin_path == NULL)
        return HELIO_ENOMEM;
    if (source[0] == '/')
        snprintf(s->pin_path, cap, "%s", source);
    else
        snprintf(s->pin_path, cap, "%s/%s", folder, source);
    return 0;
}

/* NULL, or what would be right. */
static const char *judge_uri(const struct token_session *s)
{
    P11KitUri *u = s->uri;
    const CK_ATTRIBUTE *kind = p11_kit_uri_get_attribute(u, CKA_CLASS);
    const CK_OBJECT_CLASS secret = CKO_SECRET_KEY;
    if (p11_kit_uri_any_unrecognized(u))
        return "the URI has an attribute that RFC 7512 does not define; write token, serial, "
               "object, id, module-path, module-name and pin-source";
    if (p11_kit_uri_get_pin_value(u) != NULL)
        return "the PIN is not written here; put it into a file, and write pin-source=FILE instead "
               "of pin-value";
    if (kind != NULL &&
        (kind->ulValueLen != sizeof secret || memcmp(kind->pValue, &secret, sizeof secret) != 0))
        return "keys of bundle security are secret keys; write type=secret-key, or no type";
    if (p11_kit_uri_get_attribute(u, CKA_LABEL) == NULL &&
        p11_kit_uri_get_attribute(u, CKA_ID) == NULL)
        return "the URI names no key; write object=NAME or id=%01";
    return NULL;
}

static void set_label(struct token_session *s)
{
    const CK_TOKEN_INFO *t = p11_kit_uri_get_token_info(s->uri);
    size_t len = 0;
    while (len < sizeof t->label && t->label[len] != '\0')
        len++;
    while (len > 0 && t->label[len - 1] == ' ')
        len--;
    memcpy(s->label, t->label, len);
    s->label[len] = '\0';
}

int token_session_init(struct token_session *s, const char *uri, const char *folder, char *why,
                       size_t why_cap)
{
    *s = (struct token_session){.uri = p11_kit_uri_new()};
    snprintf(why, why_cap, "out of memory");
    if (s->uri == NULL)
        return HELIO_ENOMEM;
    if (p11_kit_uri_parse(uri, P11_KIT_URI_FOR_ANY, s->uri) != P11_KIT_URI_OK)
        return refuse_text(why, why_cap,
                           "it is no PKCS #11 URI (RFC 7512); write one such as "
                           "pkcs11:token=NAME;object=NAME?pin-source=.pin");
    const char *wrong = judge_uri(s);
    if (wrong != NULL)
        return refuse_text(why, why_cap, wrong);
    set_label(s);
    return set_pin_path(s, folder);
}

/* ---- modules ---- */

static void free_modules(struct token_session *s)
{
    if (s->modules == NULL)
        return;
    p11_kit_modules_finalize(s->modules);
    p11_kit_modules_release(s->modules);
    s->modules = NULL;
}

/* The one at that path, as p11-kit keeps lists of them. */
static int load_path(struct token_session *s, const char *path, char *why, size_t cap)
{
    CK_FUNCTION_LIST **list = calloc(2, sizeof(CK_FUNCTION_LIST *));
    if (list == NULL) {
        snprintf(why, cap, "out of memory");
        return HELIO_ENOMEM;
    }
    list[0] = p11_kit_module_load(path, 0);
    const CK_RV rv = list[0] == NULL ? CKR_OK : p11_kit_module_initialize(list[0]);
    if (list[0] != NULL && rv == CKR_OK) {
        s->modules = list;
        return 0;
    }
    const char *text = list[0] == NULL ? p11_kit_message() : p11_kit_strerror(rv);
    snprintf(why, cap, "the module %s cannot be used: %s", path,
             text != NULL ? text : "it is no PKCS #11 module");
    if (list[0] != NULL)
        p11_kit_module_release(list[0]);
    free(list);
    return HELIO_EIO;
}

static int load_modules(struct token_session *s, char *why, size_t cap)
{
    const char *path = p11_kit_uri_get_module_path(s->uri);
    if (s->modules != NULL)
        return 0;
    if (path != NULL)
        return load_path(s, path, why, cap);
    s->modules = p11_kit_modules_load_and_initialize(0);
    if (s->modules != NULL)
        return 0;
    snprintf(why, cap, "the modules of p11-kit cannot be loaded: %s", p11_kit_message());
    return HELIO_EIO;
}

static bool fits_name(const struct token_session *s, CK_FUNCTION_LIST *m)
{
    const char *want = p11_kit_uri_get_module_name(s->uri);
    char *name = want == NULL ? NULL : p11_kit_module_get_name(m);
    const bool fits = want == NULL || (name != NULL && strcmp(name, want) == 0);
    free(name);
    return fits;
}

/* ---- the token ---- */

struct search {
    size_t found;
    CK_TOKEN_INFO info; /* of the one that fits */
    char others[256];   /* names of those that do not, for the message */
};

static void note_other(struct search *f, const CK_TOKEN_INFO *info)
{
    const size_t used = strlen(f->others);
    int len = (int)sizeof info->label;
    while (len > 0 && info->label[len - 1] == ' ')
        len--;
    if (used + (size_t)len + 5 < sizeof f->others)
        snprintf(f->others + used, sizeof f->others - used, "%s\"%.*s\"", used > 0 ? ", " : "", len,
                 (const char *)info->label);
}

static void search_module(struct token_session *s, CK_FUNCTION_LIST *m, struct search *f)
{
    CK_SLOT_ID slots[SLOTS_MAX];
    CK_ULONG n = 0;
    if (!fits_name(s, m) || m->C_GetSlotList(CK_TRUE, NULL, &n) != CKR_OK)
        return;
    n = SLOTS_MAX;
    if (m->C_GetSlotList(CK_TRUE, slots, &n) != CKR_OK)
        return;
    for (CK_ULONG i = 0; i < n; i++) {
        CK_TOKEN_INFO info;
        if (m->C_GetTokenInfo(slots[i], &info) != CKR_OK ||
            (info.flags & CKF_TOKEN_INITIALIZED) == 0)
            continue;
        if (!p11_kit_uri_match_token_info(s->uri, &info)) {
            note_other(f, &info);
            continue;
        }
        s->module = m;
        s->slot = slots[i];
        f->info = info;
        f->found++;
    }
}

static int find_token(struct token_session *s, struct search *f, char *why, size_t cap)
{
    for (size_t i = 0; s->modules[i] != NULL; i++)
        search_module(s, s->modules[i], f);
    if (f->found == 1)
        return 0;
    if (f->found > 1)
        snprintf(why, cap, "%zu tokens fit the URI; write serial=NUMBER, too", f->found);
    else
        snprintf(why, cap, "the token \"%s\" is not there; %s%s", s->label,
                 f->others[0] != '\0' ? "these are: " : "no other one is, either", f->others);
    return HELIO_EIO;
}

/* ---- session, key ---- */

static CK_RV login_by(struct token_session *s, const char *pin, int len)
{
    return s->module->C_Login(s->handle, CKU_USER, (CK_UTF8CHAR *)(uintptr_t)pin, (CK_ULONG)len);
}

static int read_and_login(struct token_session *s, char *why, size_t cap)
{
    bool locked;
    char *pin = secret_memory_new(PIN_MAX, &locked);
    if (pin == NULL) {
        snprintf(why, cap, "out of memory");
        return HELIO_ENOMEM;
    }
    const int len = secret_file_line(s->pin_path, pin, PIN_MAX, why, cap);
    CK_RV rv = len < 0 ? CKR_OK : login_by(s, pin, len);
    secret_memory_free(pin, PIN_MAX);
    if (len < 0)
        return HELIO_EIO;
    if (rv == CKR_OK || rv == CKR_USER_ALREADY_LOGGED_IN)
        return 0;
    s->pin_refused = rv == CKR_PIN_INCORRECT || rv == CKR_PIN_INVALID || rv == CKR_PIN_LEN_RANGE ||
                     rv == CKR_PIN_EXPIRED || rv == CKR_PIN_LOCKED;
    snprintf(why, cap, "the token \"%s\" does not accept the PIN in %s: %s", s->label, s->pin_path,
             p11_kit_strerror(rv));
    return HELIO_EIO;
}

static int login_user(struct token_session *s, const CK_TOKEN_INFO *info, char *why, size_t cap)
{
    const char *wrong = NULL;
    if ((info->flags & CKF_LOGIN_REQUIRED) == 0)
        return 0;
    if (s->pin_path == NULL)
        wrong = "wants a PIN; write pin-source=FILE behind a question mark";
    else if ((info->flags & CKF_USER_PIN_LOCKED) != 0)
        wrong = "is locked after too many wrong PINs; unlock it";
    else if ((info->flags & CKF_USER_PIN_FINAL_TRY) != 0)
        wrong = "would be locked by one more wrong PIN; log in once by hand with the right one";
    else if (s->pin_refused)
        wrong = "refused the PIN, which is not tried again before a reload";
    if (wrong == NULL)
        return read_and_login(s, why, cap);
    snprintf(why, cap, "the token \"%s\" %s", s->label, wrong);
    return HELIO_EIO;
}

static int find_object(struct token_session *s, char *why, size_t cap)
{
    CK_OBJECT_CLASS kind = CKO_SECRET_KEY;
    CK_ATTRIBUTE want[3] = {{CKA_CLASS, &kind, sizeof kind}};
    CK_OBJECT_HANDLE found[2] = {0};
    CK_ULONG n = 1, count = 0;
    for (size_t i = 0; i < 2; i++) {
        const CK_ATTRIBUTE *a = p11_kit_uri_get_attribute(s->uri, i == 0 ? CKA_LABEL : CKA_ID);
        if (a != NULL)
            want[n++] = *a;
    }
    CK_RV rv = s->module->C_FindObjectsInit(s->handle, want, n);
    if (rv == CKR_OK) {
        rv = s->module->C_FindObjects(s->handle, found, 2, &count);
        (void)s->module->C_FindObjectsFinal(s->handle);
    }
    s->object = found[0];
    if (rv == CKR_OK && count == 1)
        return 0;
    if (rv != CKR_OK)
        snprintf(why, cap, "the token \"%s\" cannot look for the key: %s", s->label,
                 p11_kit_strerror(rv));
    else if (count == 0)
        snprintf(why, cap, "the token \"%s\" has no secret key of this object name and id",
                 s->label);
    else
        snprintf(why, cap, "the token \"%s\" has several such secret keys; write id=, too",
                 s->label);
    return HELIO_EIO;
}

int token_session_open(struct token_session *s, char *why, size_t why_cap)
{
    struct search f = {.found = 0, .others = ""};
    token_session_close(s);
    int err = load_modules(s, why, why_cap);
    if (err == 0 && (err = find_token(s, &f, why, why_cap)) != 0)
        free_modules(s); /* some look for tokens only when they begin */
    if (err != 0)
        return err;
    const CK_RV rv = s->module->C_OpenSession(s->slot, CKF_SERIAL_SESSION, NULL, NULL, &s->handle);
    if (rv != CKR_OK) {
        snprintf(why, why_cap, "the token \"%s\" does not answer: %s", s->label,
                 p11_kit_strerror(rv));
        return HELIO_EIO;
    }
    s->open = true;
    err = login_user(s, &f.info, why, why_cap);
    if (err == 0)
        err = find_object(s, why, why_cap);
    if (err != 0)
        token_session_close(s);
    return err;
}

void token_session_close(struct token_session *s)
{
    if (s->open)
        (void)s->module->C_CloseSession(s->handle);
    s->open = false;
}

void token_session_fini(struct token_session *s)
{
    token_session_close(s);
    free_modules(s);
    p11_kit_uri_free(s->uri);
    free(s->pin_path);
    *s = (struct token_session){.uri = NULL};
}

bool token_session_can(const struct token_session *s, CK_MECHANISM_TYPE mechanism, CK_FLAGS flags)
{
    CK_MECHANISM_INFO info;
    return s->module->C_GetMechanismInfo(s->slot, mechanism, &info) == CKR_OK &&
           (info.flags & flags) == flags;
}

bool token_session_value(const struct token_session *s, CK_ATTRIBUTE_TYPE type, CK_ULONG *out)
{
    CK_ULONG number = 0;
    CK_ATTRIBUTE a = {type, &number, sizeof number};
    if (s->module->C_GetAttributeValue(s->handle, s->object, &a, 1) != CKR_OK)
        return false;
    CK_BBOOL truth;
    memcpy(&truth, &number, sizeof truth);
    *out = a.ulValueLen == sizeof truth ? truth : number;
    return a.ulValueLen == sizeof truth || a.ulValueLen == sizeof number;
}
