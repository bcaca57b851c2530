// The request for a terminal, and the input of the process that has the
// terminal: the text that the user types, and the sizes of the user's window,
// in their order. Agents forward both as they forward any other variable and
// input.
#ifndef CANOPY_COMMON_REQUEST_PTY_INPUT_H_
#define CANOPY_COMMON_REQUEST_PTY_INPUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace canopy {

// This variable of an application gives the rank that reads standard input a
// terminal. Its value is the size, such as "24x80".
inline constexpr char kPtyVariable[] = "CANOPY_PTY";

struct PtySize {
  uint32_t rows = 0;
  uint32_t columns = 0;
};

// Converts a size to the value of the variable and back. ParsePtySize returns
// no value for malformed text.
std::string PtySizeText(const PtySize& size);
std::optional<PtySize> ParsePtySize(std::string_view text);

// Bytes stand for themselves, except 0xff, which does not occur in UTF-8: two
// such bytes stand for one, and 0xff 'W' precedes a size of four bytes, rows
// before columns, high bytes first.
std::string EncodePtyText(std::string_view typed);
std::string EncodePtySize(const PtySize& size);

// Decodes a stream of pieces, which may end anywhere.
class PtyInputDecoder {
 public:
  // Returns the text of the piece. Sets `size` to the last size that the piece
  // has completed. Bytes that no encoder writes are dropped.
  std::string Decode(std::string_view piece, std::optional<PtySize>* size);

 private:
  std::string escape_;  // the start of an escape sequence
};

}  // namespace canopy

#endif  // CANOPY_COMMON_REQUEST_PTY_INPUT_H_
