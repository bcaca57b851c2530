#include "server/core/host/job_control.h"

#include <cstdint>
#include <string_view>
#include <utility>

#include "common/codec/decoder.h"
#include "common/codec/encoder.h"
#include "common/required.h"
#include "common/status.h"

namespace canopy::core {
namespace {

constexpr int kMaxSignal = 64;
constexpr int kSigContinue = 18;
constexpr int kSigStop = 19;

constexpr char kId[] = "pmix.jctrl.id";

enum class Meaning : uint8_t {
  kPause,
  kResume,
  kTerminate,
  kKill,
  kSignal,
  kId,
  kPset,
  kCleanup,
  kElsewhere,  // ignored: the agent knows the caller's user and group
};

struct Row {
  std::string_view key;
  Meaning meaning;
};

constexpr Row kRows[] = {
    {"pmix.jctrl.pause", Meaning::kPause},
    {"pmix.jctrl.resume", Meaning::kResume},
    {"pmix.jctrl.term", Meaning::kTerminate},
    {"pmix.jctrl.kill", Meaning::kKill},
    {"pmix.jctrl.sig", Meaning::kSignal},
    {kId, Meaning::kId},
    {"pmix.jctrl.defpset", Meaning::kPset},
    {"pmix.reg.cleanup", Meaning::kCleanup},
    {"pmix.reg.cleanupdir", Meaning::kCleanup},
    {"pmix.clnup.recurse", Meaning::kCleanup},
    {"pmix.clnup.empty", Meaning::kCleanup},
    {"pmix.clnup.ignore", Meaning::kCleanup},
    {"pmix.clnup.lvtop", Meaning::kCleanup},
    {"pmix.euid", Meaning::kElsewhere},
    {"pmix.egid", Meaning::kElsewhere},
};

const Row* Find(std::string_view key) {
  for (const Row& row : kRows) {
    if (row.key == key) return &row;
  }
  return nullptr;
}

// Reads a flag. A flag without a value is true.
bool ReadFlag(Decoder* in, bool* value) {
  uint16_t type = 0;
  *value = true;
  if (!in->GetUint16(&type)) return false;
  if (type == PMIX_UNDEF) return true;
  return type == PMIX_BOOL && in->GetBool(value);
}

bool ReadSignal(Decoder* in, int* signal) {
  uint16_t type = 0;
  int32_t value = 0;
  uint32_t positive = 0;
  if (!in->GetUint16(&type)) return false;
  const bool read = type == PMIX_INT      ? in->GetInt(&value)
                    : type == PMIX_INT32  ? in->GetInt32(&value)
                    : type == PMIX_UINT32 ? in->GetUint32(&positive)
                                          : false;
  if (type == PMIX_UINT32 && positive <= kMaxSignal) {
    value = static_cast<int32_t>(positive);
  }
  *signal = value;
  return read && value > 0 && value <= kMaxSignal;
}

bool ReadText(Decoder* in, std::string* out) {
  uint16_t type = 0;
  std::string_view text;
  if (!in->GetUint16(&type) || type != PMIX_STRING || !in->GetString(&text)) {
    return false;
  }
  *out = text;
  return !text.empty();
}

class Reader {
 public:
  explicit Reader(JobControl* out) : out_(out) {}

  // Reads one INFO. Returns a PMIx status.
  int ReadOne(Decoder* in) {
    std::string_view key;
    uint32_t flags = 0;
    if (!in->GetString(&key) || !in->GetUint32(&flags)) return kErrBadParam;
    const Row* row = Find(key);
    if (row != nullptr) return Take(row->meaning, in);
    if (!in->SkipValue()) return kErrBadParam;
    out_->refused.emplace_back(key);
    required_ |= MustHonour(flags);
    return kSuccess;
  }

  int Finish() const {
    if (num_kinds() > 1) return kErrBadParam;
    if (required_) return kErrNotSupported;
    if (num_kinds() == 1) return kSuccess;
    return out_->refused.empty() ? kErrBadParam : kErrNotSupported;
  }

 private:
  int num_kinds() const {
    return num_actions_ + (out_->cleanup ? 1 : 0) + (out_->pset ? 1 : 0);
  }

  int Take(Meaning meaning, Decoder* in) {
    std::string text;
    switch (meaning) {
      case Meaning::kPause:
        return Act(ControlAction::kSignal, kSigStop, in);
      case Meaning::kResume:
        return Act(ControlAction::kSignal, kSigContinue, in);
      case Meaning::kTerminate:
        return Act(ControlAction::kTerminate, 0, in);
      case Meaning::kKill:
        return Act(ControlAction::kKill, 0, in);
      case Meaning::kSignal:
        ++num_actions_;
        out_->action = ControlAction::kSignal;
        return ReadSignal(in, &out_->signal) ? kSuccess : kErrBadParam;
      case Meaning::kId:
        return ReadText(in, &out_->id) ? kSuccess : kErrBadParam;
      case Meaning::kPset:
        if (!ReadText(in, &text)) return kErrBadParam;
        out_->pset = std::move(text);
        return kSuccess;
      case Meaning::kCleanup:
        out_->cleanup = true;
        break;
      case Meaning::kElsewhere:
        break;
    }
    return in->SkipValue() ? kSuccess : kErrBadParam;
  }

  int Act(ControlAction action, int signal, Decoder* in) {
    bool value = true;
    if (!ReadFlag(in, &value)) return kErrBadParam;
    if (!value) return kSuccess;
    ++num_actions_;
    out_->action = action;
    out_->signal = signal;
    return kSuccess;
  }

  JobControl* const out_;
  int num_actions_ = 0;
  bool required_ = false;
};

void PutText(std::string_view key, std::string_view text, Encoder* out) {
  out->PutString(key);
  out->PutUint32(0);
  out->PutUint16(PMIX_STRING);
  out->PutString(text);
}

}  // namespace

int ParseJobControl(const Bytes& infos, JobControl* out) {
  Decoder in(infos.view());
  size_t count = 0;
  if (infos.empty() || !in.GetSize(&count)) return kErrBadParam;
  if (count > kMaxDirectives) return kErrOutOfResource;
  Reader reader(out);
  for (size_t i = 0; i < count; ++i) {
    const int status = reader.ReadOne(&in);
    if (status != kSuccess) return status;
  }
  return reader.Finish();
}

Bytes ControlResults(const JobControl& control) {
  const size_t count = control.refused.size() + (control.id.empty() ? 0 : 1);
  if (count == 0) return {};
  Encoder out;
  out.PutSize(count);
  if (!control.id.empty()) PutText(kId, control.id, &out);
  for (const std::string& key : control.refused) {
    PutText(key, "not supported", &out);
  }
  return Bytes(out.Take());
}

std::string ActionName(const JobControl& control) {
  switch (control.action) {
    case ControlAction::kNone:
      break;
    case ControlAction::kSignal:
      if (control.signal == kSigStop) return "pause";
      if (control.signal == kSigContinue) return "resume";
      return "signal " + std::to_string(control.signal);
    case ControlAction::kTerminate:
      return "terminate";
    case ControlAction::kKill:
      return "kill";
  }
  return "nothing";
}

}  // namespace canopy::core
