#include "common/iof_call.h"

#include "common/slice.h"
#include "common/wire.h"

namespace canopy {
namespace {

// A cursor is small: it has eight bytes for each node of a job.
constexpr size_t kMaxCursor = 1 << 20;

uint16_t ReadChannels(WireReader& in) {
  const uint64_t channels = in.Uint();
  if (channels > UINT16_MAX) in.Fail();
  return static_cast<uint16_t>(channels);
}

std::string ReadCursor(WireReader& in) {
  const std::string_view cursor = in.String();
  if (cursor.size() > kMaxCursor) in.Fail();
  return std::string(cursor);
}

}  // namespace

std::string EncodeOutputRead(const OutputRead& read) {
  WireWriter out;
  out.Uint(read.handle);
  out.Uint(read.channels);
  out.Uint(read.cache_size);
  out.Uint(static_cast<uint64_t>(read.overflow));
  out.Bool(read.from_now);
  out.Bool(read.only_cached);
  out.Bool(read.redirects);
  out.Bool(read.ends);
  out.String(read.cursor);
  return out.Take();
}

bool DecodeOutputRead(std::string_view bytes, OutputRead* read) {
  WireReader in(bytes);
  read->handle = in.Uint();
  read->channels = ReadChannels(in);
  read->cache_size = in.Uint();
  const uint64_t overflow = in.Uint();
  if (overflow > static_cast<uint64_t>(Overflow::kDropOldest)) in.Fail();
  read->overflow = static_cast<Overflow>(overflow);
  read->from_now = in.Bool();
  read->only_cached = in.Bool();
  read->redirects = in.Bool();
  read->ends = in.Bool();
  read->cursor = ReadCursor(in);
  return in.done();
}

std::string EncodeOutputRun(const OutputRun& run) {
  size_t size = 64 + run.cursor.size();
  for (const OutputPiece& piece : run.pieces) size += 16 + piece.data.size();
  WireWriter out;
  out.Reserve(size);
  out.Uint(run.dropped);
  out.Bool(run.complete);
  out.String(run.cursor);
  out.Uint(run.pieces.size());
  for (const OutputPiece& piece : run.pieces) {
    out.Uint(piece.rank);
    out.Uint(piece.channel);
    out.String(piece.data.view());
  }
  return out.Take();
}

bool DecodeOutputRun(const Bytes& bytes, OutputRun* run) {
  WireReader in(bytes.view());
  run->dropped = in.Uint();
  run->complete = in.Bool();
  run->cursor = ReadCursor(in);
  run->pieces.resize(in.Count(3));
  for (OutputPiece& piece : run->pieces) {
    piece.rank = in.Uint32();
    piece.channel = ReadChannels(in);
    piece.data = SliceOf(bytes, in.String());
  }
  return in.done();
}

std::string EncodeInputPush(const InputPush& push) {
  WireWriter out;
  out.Reserve(16 + push.data.size());
  out.String(push.data.view());
  out.Bool(push.complete);
  return out.Take();
}

bool DecodeInputPush(const Bytes& bytes, InputPush* push) {
  WireReader in(bytes.view());
  push->data = SliceOf(bytes, in.String());
  push->complete = in.Bool();
  return in.done() && (push->complete || !push->data.empty());
}

}  // namespace canopy
