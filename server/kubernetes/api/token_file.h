// The bearer token of a pod, in a file that the kubelet replaces.
#ifndef CANOPY_SERVER_KUBERNETES_API_TOKEN_FILE_H_
#define CANOPY_SERVER_KUBERNETES_API_TOKEN_FILE_H_

#include <cstdint>
#include <string>
#include <utility>

namespace canopy::kubernetes {

// The token as it was last read. A file that cannot be read, or has anything
// but one word of printable ASCII, leaves the previous token in use.
class TokenFile {
 public:
  // Time after which the file is read again.
  static constexpr int64_t kMaxAgeNs = 60'000'000'000;

  // An empty path: there is no token.
  explicit TokenFile(std::string path) : path_(std::move(path)) {}

  // Returns the token, or an empty text if there is none. `now_ns` is the time
  // of EventLoop::Now.
  const std::string& Token(int64_t now_ns);
  // Reads the file again, because the server has rejected `rejected`. Returns
  // true if there is another token now.
  bool Renew(const std::string& rejected, int64_t now_ns);

 private:
  void Read(int64_t now_ns);

  std::string path_;
  std::string token_;
  bool is_read_ = false;
  int64_t read_ns_ = 0;
};

}  // namespace canopy::kubernetes

#endif  // CANOPY_SERVER_KUBERNETES_API_TOKEN_FILE_H_
