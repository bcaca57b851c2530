#include "client/tools/typed_input.h"

#include <poll.h>
#include <signal.h>
#include <termios.h>
#include <unistd.h>

#include <atomic>
#include <cctype>
#include <cerrno>

namespace canopy::tools {
namespace {

constexpr size_t kPiece = size_t{64} << 10;
constexpr int kEndings[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};

// A signal handler has no argument for user data.
std::atomic<int> g_changed{-1};  // the terminal whose settings are changed
termios g_before;

void RestoreTerminal() {
  const int fd = g_changed.exchange(-1);
  if (fd >= 0) tcsetattr(fd, TCSANOW, &g_before);
}

void OnEnding(int signal) {
  RestoreTerminal();
  // The signal has its default action again, because the handler was installed
  // for one delivery only (SA_RESETHAND).
  raise(signal);
}

bool InForeground(int fd) { return tcgetpgrp(fd) == getpgrp(); }

// Makes `key` end a read, as a line feed does. Returns false if `fd` is not a
// terminal, or if this process is in the background of that terminal.
bool LetKeyEndReads(int fd, char key) {
  termios settings;
  if (isatty(fd) != 1 || !InForeground(fd) || tcgetattr(fd, &settings) != 0) {
    return false;
  }
  g_before = settings;
  settings.c_cc[VEOL] = static_cast<cc_t>(key);
  g_changed = fd;
  for (const int signal : kEndings) {
    struct sigaction action = {};
    action.sa_handler = OnEnding;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
    sigaction(signal, &action, nullptr);
  }
  return tcsetattr(fd, TCSANOW, &settings) == 0;
}

bool HungUp(int fd) {
  pollfd state = {fd, POLLIN, 0};
  return poll(&state, 1, 0) > 0 && (state.revents & (POLLHUP | POLLERR)) != 0;
}

}  // namespace

char ControlCharacter(std::string_view text) {
  for (const std::string_view prefix : {"ctrl-", "Ctrl-", "^"}) {
    if (!text.starts_with(prefix)) continue;
    text.remove_prefix(prefix.size());
    const int upper = text.size() == 1 ? toupper(text[0]) : 0;
    const bool is_one = upper > '@' && upper <= '_';
    // Line feed and carriage return end every line, so neither can be the key
    // by which the user detaches.
    if (!is_one || upper == 'J' || upper == 'M') return 0;
    return static_cast<char>(upper - '@');
  }
  return 0;
}

TypedInput::TypedInput(int fd, char key)
    : fd_(fd), key_(key != 0 && LetKeyEndReads(fd, key) ? key : '\0') {}

TypedPiece TypedInput::Read() {
  TypedPiece piece;
  piece.bytes.resize(kPiece);
  ssize_t n = 0;
  do {
    n = read(fd_, piece.bytes.data(), piece.bytes.size());
  } while (n < 0 && errno == EINTR);
  piece.bytes.resize(n > 0 ? static_cast<size_t>(n) : 0);
  piece.ends = n <= 0;
  if (key_ == 0) return piece;
  const size_t at = piece.bytes.find(key_);
  if (at == std::string::npos) return piece;
  piece.bytes.resize(at);
  piece.detaches = true;
  return piece;
}

bool TypedInput::AwaitKey() {
  while (key_ != 0) {
    const TypedPiece piece = Read();
    if (piece.detaches) return true;
    // On a terminal, input continues after a typed end of file.
    if (piece.ends && HungUp(fd_)) return false;
  }
  return false;
}

void TypedInput::Restore() { RestoreTerminal(); }

}  // namespace canopy::tools
