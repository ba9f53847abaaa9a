// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/sslerr.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include "weft/detail/base/status.hpp"

/// Every function of OpenSSL that this layer calls, also by the macros of OpenSSL's headers.
#define WEFT_OPENSSL_FUNCTIONS(F)         \
  F(ASN1_STRING_get0_data)                \
  F(ASN1_STRING_length)                   \
  F(ASN1_STRING_to_UTF8)                  \
  F(BIO_clear_flags)                      \
  F(BIO_ctrl)                             \
  F(BIO_free)                             \
  F(BIO_get_data)                         \
  F(BIO_get_new_index)                    \
  F(BIO_meth_free)                        \
  F(BIO_meth_new)                         \
  F(BIO_meth_set_ctrl)                    \
  F(BIO_meth_set_read_ex)                 \
  F(BIO_meth_set_write_ex)                \
  F(BIO_new)                              \
  F(BIO_new_mem_buf)                      \
  F(BIO_s_mem)                            \
  F(BIO_set_data)                         \
  F(BIO_set_flags)                        \
  F(BIO_set_init)                         \
  F(CRYPTO_free)                          \
  F(CRYPTO_get_ex_new_index)              \
  F(CRYPTO_memcmp)                        \
  F(ERR_clear_error)                      \
  F(ERR_new)                              \
  F(ERR_peek_error)                       \
  F(ERR_peek_last_error)                  \
  F(ERR_reason_error_string)              \
  F(ERR_set_debug)                        \
  F(ERR_set_error)                        \
  F(EVP_CipherInit_ex)                    \
  F(EVP_MAC_CTX_set_params)               \
  F(EVP_PKEY_free)                        \
  F(EVP_aes_256_cbc)                      \
  F(GENERAL_NAMES_free)                   \
  F(OPENSSL_cleanse)                      \
  F(OPENSSL_sk_num)                       \
  F(OPENSSL_sk_value)                     \
  F(OSSL_PARAM_construct_end)             \
  F(OSSL_PARAM_construct_octet_string)    \
  F(OSSL_PARAM_construct_utf8_string)     \
  F(PEM_read_bio_PrivateKey)              \
  F(PEM_read_bio_X509)                    \
  F(PEM_read_bio_X509_AUX)                \
  F(PEM_read_bio_X509_CRL)                \
  F(RAND_bytes)                           \
  F(RAND_priv_bytes)                      \
  F(SSL_CIPHER_get_name)                  \
  F(SSL_CTX_add_client_CA)                \
  F(SSL_CTX_callback_ctrl)                \
  F(SSL_CTX_check_private_key)            \
  F(SSL_CTX_ctrl)                         \
  F(SSL_CTX_free)                         \
  F(SSL_CTX_get0_certificate)             \
  F(SSL_CTX_get_cert_store)               \
  F(SSL_CTX_get_ex_data)                  \
  F(SSL_CTX_new)                          \
  F(SSL_CTX_sess_set_new_cb)              \
  F(SSL_CTX_set_alpn_protos)              \
  F(SSL_CTX_set_alpn_select_cb)           \
  F(SSL_CTX_set_default_verify_paths)     \
  F(SSL_CTX_set_ex_data)                  \
  F(SSL_CTX_set_max_early_data)           \
  F(SSL_CTX_set_num_tickets)              \
  F(SSL_CTX_set_options)                  \
  F(SSL_CTX_set_security_level)           \
  F(SSL_CTX_set_session_id_context)       \
  F(SSL_CTX_set_session_ticket_cb)        \
  F(SSL_CTX_set_timeout)                  \
  F(SSL_CTX_set_tlsext_ticket_key_evp_cb) \
  F(SSL_CTX_set_verify)                   \
  F(SSL_CTX_use_PrivateKey)               \
  F(SSL_CTX_use_certificate)              \
  F(SSL_SESSION_free)                     \
  F(SSL_SESSION_get0_peer)                \
  F(SSL_SESSION_get_protocol_version)     \
  F(SSL_ctrl)                             \
  F(SSL_do_handshake)                     \
  F(SSL_export_keying_material)           \
  F(SSL_free)                             \
  F(SSL_free_buffers)                     \
  F(SSL_get0_alpn_selected)               \
  F(SSL_get0_param)                       \
  F(SSL_get0_peer_certificate)            \
  F(SSL_get_SSL_CTX)                      \
  F(SSL_get_current_cipher)               \
  F(SSL_get_error)                        \
  F(SSL_get_ex_data)                      \
  F(SSL_get_servername)                   \
  F(SSL_get_verify_mode)                  \
  F(SSL_get_verify_result)                \
  F(SSL_get_version)                      \
  F(SSL_is_init_finished)                 \
  F(SSL_new)                              \
  F(SSL_read_early_data)                  \
  F(SSL_read_ex)                          \
  F(SSL_select_next_proto)                \
  F(SSL_session_reused)                   \
  F(SSL_set1_host)                        \
  F(SSL_set_SSL_CTX)                      \
  F(SSL_set_accept_state)                 \
  F(SSL_set_bio)                          \
  F(SSL_set_connect_state)                \
  F(SSL_set_ex_data)                      \
  F(SSL_set_hostflags)                    \
  F(SSL_set_session)                      \
  F(SSL_set_shutdown)                     \
  F(SSL_shutdown)                         \
  F(SSL_version)                          \
  F(SSL_write_early_data)                 \
  F(SSL_write_ex)                         \
  F(TLS_client_method)                    \
  F(TLS_server_method)                    \
  F(X509_CRL_free)                        \
  F(X509_CRL_get0_lastUpdate)             \
  F(X509_CRL_get0_nextUpdate)             \
  F(X509_CRL_get_issuer)                  \
  F(X509_NAME_ENTRY_get_data)             \
  F(X509_NAME_cmp)                        \
  F(X509_NAME_get_entry)                  \
  F(X509_NAME_get_index_by_NID)           \
  F(X509_NAME_print_ex)                   \
  F(X509_OBJECT_get0_X509)                \
  F(X509_OBJECT_get0_X509_CRL)            \
  F(X509_STORE_add_cert)                  \
  F(X509_STORE_add_crl)                   \
  F(X509_STORE_get0_objects)              \
  F(X509_STORE_lock)                      \
  F(X509_STORE_set_flags)                 \
  F(X509_STORE_unlock)                    \
  F(X509_VERIFY_PARAM_set1_ip_asc)        \
  F(X509_check_host)                      \
  F(X509_check_purpose)                   \
  F(X509_cmp_current_time)                \
  F(X509_free)                            \
  F(X509_get0_notAfter)                   \
  F(X509_get0_notBefore)                  \
  F(X509_get_ext_d2i)                     \
  F(X509_get_subject_name)                \
  F(X509_verify_cert_error_string)

namespace weft::detail::tls {

/// Pointers to the functions of OpenSSL, by the functions' own names, so that no program links OpenSSL for
/// Weft's sake. In this namespace a name means the pointer: it hides the function, from OpenSSL's macros too,
/// and a pointer is no candidate for argument-dependent lookup. They are null until load_openssl() has
/// succeeded.
#define WEFT_OPENSSL_POINTER(name) extern decltype(&::name) name;
WEFT_OPENSSL_FUNCTIONS(WEFT_OPENSSL_POINTER)
#undef WEFT_OPENSSL_POINTER

/// Loads OpenSSL, once. Thread: any. Errors: kUnimplemented, with the package to install.
Status load_openssl();

}  // namespace weft::detail::tls
