/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A PKCS #11 module around SoftHSM's whose token can be pulled out. The file that the environment's
 * TOKEN_SHIM names has a word for what is wrong now: removed, mechanism, final, locked. Logins are
 * noted in the same name with .logins behind it, one octet each.
 */
#include <dlfcn.h>
#include <p11-kit/pkcs11.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static CK_FUNCTION_LIST *real, list;

static bool is_now(const char *word)
{
    char text[32] = "";
    const char *path = getenv("TOKEN_SHIM");
    FILE *f = path == NULL ? NULL : fopen(path, "r");
    if (f == NULL)
        return false;
    const bool read = fgets(text, sizeof text, f) != NULL;
    fclose(f);
    text[strcspn(text, "\n")] = '\0';
    return read && strcmp(text, word) == 0;
}

static bool is_removed(void)
{
    static CK_SLOT_ID slots[16];
    CK_ULONG n = 16;
    if (!is_now("removed"))
        return false;
    if (real->C_GetSlotList(CK_TRUE, slots, &n) == CKR_OK) {
        for (CK_ULONG i = 0; i < n; i++)
            real->C_CloseAllSessions(slots[i]); /* no session comes back with the token */
    }
    return true;
}

static CK_RV get_slots(CK_BBOOL present, CK_SLOT_ID *slots, CK_ULONG *n)
{
    if (!is_removed())
        return real->C_GetSlotList(present, slots, n);
    *n = 0;
    return CKR_OK;
}

static CK_RV get_token(CK_SLOT_ID slot, CK_TOKEN_INFO *info)
{
    const CK_RV rv = is_removed() ? CKR_TOKEN_NOT_PRESENT : real->C_GetTokenInfo(slot, info);
    if (rv == CKR_OK && is_now("final"))
        info->flags |= CKF_USER_PIN_FINAL_TRY;
    if (rv == CKR_OK && is_now("locked"))
        info->flags |= CKF_USER_PIN_LOCKED;
    return rv;
}

static CK_RV get_mechanism(CK_SLOT_ID slot, CK_MECHANISM_TYPE type, CK_MECHANISM_INFO *info)
{
    return is_now("mechanism") ? CKR_MECHANISM_INVALID : real->C_GetMechanismInfo(slot, type, info);
}

static CK_RV login_user(CK_SESSION_HANDLE s, CK_USER_TYPE user, CK_UTF8CHAR *pin, CK_ULONG len)
{
    char path[512];
    snprintf(path, sizeof path, "%s.logins", getenv("TOKEN_SHIM"));
    FILE *f = fopen(path, "a");
    if (f != NULL) {
        fputc('x', f);
        fclose(f);
    }
    return real->C_Login(s, user, pin, len);
}

static CK_RV sign_init(CK_SESSION_HANDLE s, CK_MECHANISM *m, CK_OBJECT_HANDLE key)
{
    return is_removed() ? CKR_DEVICE_REMOVED : real->C_SignInit(s, m, key);
}

static CK_RV encrypt_init(CK_SESSION_HANDLE s, CK_MECHANISM *m, CK_OBJECT_HANDLE key)
{
    return is_removed() ? CKR_DEVICE_REMOVED : real->C_EncryptInit(s, m, key);
}

static CK_RV decrypt_init(CK_SESSION_HANDLE s, CK_MECHANISM *m, CK_OBJECT_HANDLE key)
{
    return is_removed() ? CKR_DEVICE_REMOVED : real->C_DecryptInit(s, m, key);
}

static CK_RV create_object(CK_SESSION_HANDLE s, CK_ATTRIBUTE *a, CK_ULONG n, CK_OBJECT_HANDLE *out)
{
    return is_removed() ? CKR_DEVICE_REMOVED : real->C_CreateObject(s, a, n, out);
}

static CK_RV unwrap_key(CK_SESSION_HANDLE s, CK_MECHANISM *m, CK_OBJECT_HANDLE key, CK_BYTE *in,
                        CK_ULONG len, CK_ATTRIBUTE *a, CK_ULONG n, CK_OBJECT_HANDLE *out)
{
    return is_removed() ? CKR_DEVICE_REMOVED : real->C_UnwrapKey(s, m, key, in, len, a, n, out);
}

__attribute__((visibility("default"))) CK_RV C_GetFunctionList(CK_FUNCTION_LIST **out)
{
    void *module = dlopen("/usr/lib/softhsm/libsofthsm2.so", RTLD_NOW | RTLD_LOCAL);
    CK_C_GetFunctionList get = NULL;
    if (module != NULL)
        *(void **)&get = dlsym(module, "C_GetFunctionList");
    if (get == NULL || get(&real) != CKR_OK)
        return CKR_GENERAL_ERROR;
    list = *real;
    list.C_GetFunctionList = C_GetFunctionList;
    list.C_GetSlotList = get_slots;
    list.C_GetTokenInfo = get_token;
    list.C_GetMechanismInfo = get_mechanism;
    list.C_Login = login_user;
    list.C_SignInit = sign_init;
    list.C_EncryptInit = encrypt_init;
    list.C_DecryptInit = decrypt_init;
    list.C_CreateObject = create_object;
    list.C_UnwrapKey = unwrap_key;
    *out = &list;
    return CKR_OK;
}
