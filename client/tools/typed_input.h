// Input for an attached job, from a terminal or a pipe.
#ifndef CANOPY_CLIENT_TOOLS_TYPED_INPUT_H_
#define CANOPY_CLIENT_TOOLS_TYPED_INPUT_H_

#include <string>
#include <string_view>

namespace canopy::tools {

struct TypedPiece {
  std::string bytes;
  bool ends = false;      // the input has ended
  bool detaches = false;  // the key of the TypedInput was typed
};

// Returns the control character for "ctrl-X" or "^X", or 0 if there is none.
char ControlCharacter(std::string_view text);

// Reads the input of an attached job, and detects the control character by
// which the user detaches, the key. A terminal keeps its line editing: the key
// ends a read as a line feed does. Signals that end the process restore the
// terminal first. At most one object exists in a process; one thread uses it,
// except for Restore.
class TypedInput {
 public:
  // The caller keeps ownership of `fd`. `key` has an effect on a terminal only;
  // 0 means no key.
  TypedInput(int fd, char key);
  ~TypedInput() { Restore(); }
  TypedInput(const TypedInput&) = delete;
  TypedInput& operator=(const TypedInput&) = delete;

  // Waits for the next piece, of at most 64 KiB.
  TypedPiece Read();
  // Waits until the key is typed and discards other input. Returns false if the
  // key cannot be typed or the input has ended.
  bool AwaitKey();
  // Restores the terminal's settings. Any thread.
  void Restore();

 private:
  const int fd_;
  const char key_;  // 0: no terminal or no key
};

}  // namespace canopy::tools

#endif  // CANOPY_CLIENT_TOOLS_TYPED_INPUT_H_
