// What is typed, or comes from a pipe, for a job that we are attached to.
#ifndef CANOPY_CLIENT_TOOLS_TYPED_INPUT_H_
#define CANOPY_CLIENT_TOOLS_TYPED_INPUT_H_

#include <string>
#include <string_view>

namespace canopy::tools {

struct TypedPiece {
  std::string bytes;
  bool ends = false;      // nothing follows
  bool detaches = false;  // the key was typed
};

// The control character that is meant by "ctrl-X" or "^X"; 0: by none.
char ControlCharacter(std::string_view text);

// A terminal keeps its line editing: the key ends a read as a line feed does.
// Signals that end us restore it first. One of a process; single-threaded, but
// for Restore.
class TypedInput {
 public:
  // `fd` is not owned. `key` has a meaning on a terminal alone; 0: none.
  TypedInput(int fd, char key);
  ~TypedInput() { Restore(); }
  TypedInput(const TypedInput&) = delete;
  TypedInput& operator=(const TypedInput&) = delete;

  // Waits for the next piece, of 64 KiB at most.
  TypedPiece Read();
  // Waits until the key is typed; the rest is thrown away. False: it can not
  // be, or nothing follows.
  bool AwaitKey();
  // The terminal is as it was.
  void Restore();

 private:
  const int fd_;
  const char key_;  // 0: no terminal, or none is wanted
};

}  // namespace canopy::tools

#endif  // CANOPY_CLIENT_TOOLS_TYPED_INPUT_H_
