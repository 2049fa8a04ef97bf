// For tests: a certificate for a server on loopback.
#pragma once

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <filesystem>

#include "http/server.h"

namespace coffer::http {

// Writes a fresh self-signed certificate for these names, and its key.
inline TlsFiles make_certificate(const std::filesystem::path& directory, const char* common_name,
                                 const char* valid_for = "IP:127.0.0.1,DNS:localhost") {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* cert = X509_new();
  X509_set_version(cert, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
  X509_gmtime_adj(X509_getm_notBefore(cert), -60);
  X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
  X509_set_pubkey(cert, key);
  auto* subject = X509_get_subject_name(cert);
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(common_name), -1, -1, 0);
  X509_set_issuer_name(cert, subject);
  X509_EXTENSION* names = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, valid_for);
  X509_add_ext(cert, names, -1);
  X509_sign(cert, key, EVP_sha256());
  TlsFiles files{directory / "cert.pem", directory / "key.pem"};
  FILE* out = std::fopen(files.cert.c_str(), "w");
  PEM_write_X509(out, cert);
  std::fclose(out);
  out = std::fopen(files.key.c_str(), "w");
  std::filesystem::permissions(
      files.key, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  PEM_write_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(out);
  X509_EXTENSION_free(names);
  X509_free(cert);
  EVP_PKEY_free(key);
  return files;
}

}  // namespace coffer::http
