#include "server/security/cluster_key.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace canopy::security {
namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr size_t kMaxFileBytes = 1024;

struct Fd {
  int fd;
  explicit Fd(int f) : fd(f) {}
  ~Fd() {
    if (fd >= 0) close(fd);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
};

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string_view Trim(std::string_view s) {
  const size_t first = s.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(kSpace) - first + 1);
}

Status FileError(const std::string& path, const char* what) {
  const int code = errno == EEXIST                     ? kErrExists
                   : errno == ENOENT                   ? kErrNotFound
                   : errno == EACCES || errno == EPERM ? kErrNoPermissions
                                                       : kError;
  return Status(
      code, "cluster key file " + path + ": " + what + ": " + strerror(errno));
}

Status CheckPrivate(int fd, const std::string& path) {
  struct stat st;
  if (fstat(fd, &st) != 0) return FileError(path, "cannot be examined");
  if (!S_ISREG(st.st_mode)) {
    return Status(kErrBadParam,
                  "cluster key file " + path + " is not a regular file");
  }
  if (st.st_uid != geteuid() && st.st_uid != 0) {
    return Status(kErrNoPermissions,
                  "cluster key file " + path + " belongs to another user");
  }
  if ((st.st_mode & 077) != 0) {
    return Status(kErrNoPermissions, "cluster key file " + path +
                                         " can be used by others: chmod 600 " +
                                         path);
  }
  return Status();
}

}  // namespace

Result<ClusterKey> ClusterKey::Generate() {
  std::array<uint8_t, kDigestBytes> bytes;
  if (RAND_priv_bytes(bytes.data(), bytes.size()) != 1) {
    return Status(kError, "the system's random source failed");
  }
  return ClusterKey(bytes);
}

Result<ClusterKey> ClusterKey::FromHex(std::string_view hex) {
  hex = Trim(hex);
  std::array<uint8_t, kDigestBytes> bytes;
  bool good = hex.size() == 2 * bytes.size();
  for (size_t i = 0; good && i < bytes.size(); ++i) {
    const int high = HexDigit(hex[2 * i]);
    const int low = HexDigit(hex[2 * i + 1]);
    good = high >= 0 && low >= 0;
    bytes[i] = static_cast<uint8_t>((high << 4) | low);
  }
  if (!good) {
    return Status(kErrBadParam,
                  "a cluster key is 64 hexadecimal digits; this one is not");
  }
  return ClusterKey(bytes);
}

Result<ClusterKey> ClusterKey::Load(const std::string& path) {
  Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.fd < 0) return FileError(path, "cannot be opened");
  if (Status s = CheckPrivate(file.fd, path); !s.ok()) return s;
  std::string text(kMaxFileBytes, '\0');
  const ssize_t n = read(file.fd, text.data(), text.size());
  if (n < 0) return FileError(path, "cannot be read");
  auto key = FromHex(std::string_view(text).substr(0, n));
  OPENSSL_cleanse(text.data(), text.size());
  if (!key.ok()) {
    return Status(key.code(), path + ": " + key.status().message());
  }
  return key;
}

Status ClusterKey::Save(const std::string& path) const {
  Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file.fd < 0) return FileError(path, "cannot be made");
  const std::string text = ToHex() + "\n";
  if (write(file.fd, text.data(), text.size()) !=
      static_cast<ssize_t>(text.size())) {
    Status failed = FileError(path, "cannot be written");
    unlink(path.c_str());
    return failed;
  }
  return Status();
}

std::string ClusterKey::ToHex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * bytes_.size());
  for (const uint8_t b : bytes_) {
    hex += kDigits[b >> 4];
    hex += kDigits[b & 15];
  }
  return hex;
}

std::string ClusterKey::Hmac(std::string_view text) const {
  std::string out(kDigestBytes, '\0');
  unsigned int n = 0;
  HMAC(EVP_sha256(), bytes_.data(), static_cast<int>(bytes_.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(),
       reinterpret_cast<unsigned char*>(out.data()), &n);
  out.resize(n);
  return out;
}

std::string ClusterKey::Derive(std::string_view purpose, size_t length) const {
  // RFC 5869 with an empty salt. Implemented here because OpenSSL's version
  // needs a provider lookup for three lines of work.
  const std::string zero(kDigestBytes, '\0');
  std::array<unsigned char, kDigestBytes> prk;
  unsigned int n = 0;
  HMAC(EVP_sha256(), zero.data(), static_cast<int>(zero.size()), bytes_.data(),
       bytes_.size(), prk.data(), &n);
  std::string out;
  std::string block;
  for (uint8_t i = 1; out.size() < length; ++i) {
    const std::string text =
        block + std::string(purpose) + static_cast<char>(i);
    block.resize(kDigestBytes);
    HMAC(EVP_sha256(), prk.data(), static_cast<int>(prk.size()),
         reinterpret_cast<const unsigned char*>(text.data()), text.size(),
         reinterpret_cast<unsigned char*>(block.data()), &n);
    out += block;
  }
  out.resize(length);
  return out;
}

bool EqualInConstantTime(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string RandomBytes(size_t n) {
  std::string out(n, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(out.data()),
                 static_cast<int>(n)) != 1) {
    return {};
  }
  return out;
}

}  // namespace canopy::security
