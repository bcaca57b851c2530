#include "server/process/shim_texts.h"

#include <utility>

#include "common/status.h"

namespace canopy::process {
namespace {

// The limits of the unanswered texts. They suffice, because a shim answers at
// once.
constexpr size_t kMaxBytes = 4 * kMaxWaitingText;
constexpr size_t kMaxTexts = 1 << 16;

static_assert(ProcessText::kMaxBytes <= kMaxWaitingText);
static_assert(ProcessText::kMaxKind <= kMaxTextKind);
static_assert(ProcessText::kMaxPieces <= kMaxTextParts);

size_t SizeOf(const ProcessText& text) {
  size_t size = 0;
  for (const ProcessText::Piece& piece : text.pieces) size += piece.text.size();
  return size;
}

TextRequest RequestFor(ProcessText text) {
  TextRequest request;
  request.client = text.client;
  request.request = text.request;
  request.again = text.again;
  request.rank = text.proc.rank;
  request.key = std::move(text.key);
  request.value = std::move(text.value);
  for (ProcessText::Piece& piece : text.pieces) {
    request.parts.push_back({piece.is_error ? kChannelStderr : kChannelStdout,
                             std::move(piece.text)});
  }
  return request;
}

}  // namespace

std::optional<TextRequest> ShimTexts::Put(ProcessText text, TextDone done) {
  const size_t size = SizeOf(text);
  const bool fits =
      size <= ProcessText::kMaxBytes &&
      text.pieces.size() <= ProcessText::kMaxPieces &&
      text.key.size() + text.value.size() <= ProcessText::kMaxKind;
  if (!fits || bytes_ + size > kMaxBytes || waiting_.size() >= kMaxTexts) {
    done(kErrOutOfResource);
    return std::nullopt;
  }
  bytes_ += size;
  waiting_.push_back({size, std::move(done)});
  return RequestFor(std::move(text));
}

bool ShimTexts::OnDone(std::string_view payload) {
  TextTaken answer;
  if (waiting_.empty() || !Decode(payload, &answer)) return false;
  const Waiting first = std::move(waiting_.front());
  waiting_.pop_front();
  bytes_ -= first.bytes;
  first.done(answer.status);
  return true;
}

void ShimTexts::FailAll(int status) {
  bytes_ = 0;
  for (const Waiting& one : std::exchange(waiting_, {})) one.done(status);
}

}  // namespace canopy::process
