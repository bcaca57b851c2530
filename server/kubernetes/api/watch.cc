#include "server/kubernetes/api/watch.h"

#include <algorithm>
#include <optional>
#include <random>
#include <string_view>
#include <utility>

#include "common/event_loop.h"
#include "common/time_units.h"
#include "server/kubernetes/api/api_connection.h"
#include "server/kubernetes/api/known_objects.h"
#include "server/kubernetes/api/line_reader.h"
#include "server/kubernetes/api/list_text.h"
#include "server/kubernetes/api/retry_pauses.h"
#include "server/kubernetes/api/url.h"
#include "server/kubernetes/api/watch_event.h"

namespace canopy::kubernetes {
namespace {

// The time after which the client ends a stream that the server should have
// ended.
constexpr int64_t kStreamGraceNs = 15 * kNsPerSecond;
// The body of an answer that refuses a stream, in bytes.
constexpr size_t kMaxRefusal = 1 << 20;
constexpr size_t kMaxContinue = 64 << 10;  // bytes
// The time after which a list gives way to the other work of the loop.
constexpr int64_t kTurnNs = 5 * kNsPerMs;

// A list with a version may come from the server's cache. A list without one is
// read from its database, which is as costly as the whole collection is large,
// whatever the selectors are; so it is the last resort.
std::string ListPath(const WatchOptions& options, int page_objects,
                     const std::string& version, const std::string& next) {
  const bool is_first = next.empty();
  return WithQuery(options.path,
                   {{"limit", std::to_string(page_objects)},
                    {"continue", next},
                    {"resourceVersion", is_first ? version : ""},
                    {"resourceVersionMatch",
                     is_first && !version.empty() ? "NotOlderThan" : ""},
                    {"labelSelector", options.label_selector},
                    {"fieldSelector", options.field_selector}});
}

std::string StreamPath(const WatchOptions& options, const std::string& version,
                       int64_t seconds) {
  return WithQuery(options.path, {{"watch", "1"},
                                  {"allowWatchBookmarks", "true"},
                                  {"timeoutSeconds", std::to_string(seconds)},
                                  {"resourceVersion", version},
                                  {"labelSelector", options.label_selector},
                                  {"fieldSelector", options.field_selector}});
}

// Returns whether the server has refused a list because it does not have this
// version: its state is older, or the version has expired.
bool LacksVersion(const HttpAnswer& answer) {
  return answer.code == 410 ||
         answer.body.find("Too large resource version") != std::string::npos;
}

// Returns the problem that an error in a stream reports. The expiry of a
// version is none.
Status ProblemOf(const Json& error) {
  if (IntAt(error, "code") == 410) return Status();
  return Status(kErrServerFailedRequest,
                "the Kubernetes API server has ended a stream of changes: " +
                    ShownText(TextAt(error, "message")));
}

Status UnexpectedAnswer() {
  return Status(kErrUnpackFailure,
                "the Kubernetes API server has sent a list or a change that is "
                "malformed or too long");
}

Status TooManyObjects() {
  return Status(kErrOutOfResource,
                "the Kubernetes API server has more objects than can be "
                "watched");
}

}  // namespace

// Lives until the last callback has returned, even if a callback destroys the
// watch. At any time, one exchange is in progress or the timer of the next one
// is running; unless the watch was destroyed (is_stopped_).
class Watch::Machine : public std::enable_shared_from_this<Watch::Machine> {
 public:
  Machine(ApiClient* client, WatchOptions options);

  void List();
  void Stop();

 private:
  enum class Resume { kList, kStream };

  void RequestPage();
  void OnPage(HttpAnswer answer);
  void ReadPage();
  void OnPageEnd();
  void OnListFailure(const HttpAnswer& answer, const Status& problem);
  void EndList(const std::string& version);

  void Stream();
  void WatchSilence();
  void OnPiece(std::string_view piece);
  void OnLine(std::string_view line);
  void OnChange(const WatchEvent& event);
  void OnStreamEnd(const HttpAnswer& answer);
  bool LastedLong() const;

  // Reports an object that exists. Returns false if nothing must follow: the
  // watch was destroyed, or continues with a new list.
  bool Saw(const Json& object);
  bool Report(Change change, const Json& object);
  void ReportProblem(const Status& problem);
  // Ends the exchange, and continues after a pause.
  void Again(Resume resume, const Status& problem,
             std::optional<int64_t> requested_ns = std::nullopt);
  void AgainAfter(Resume resume, const HttpAnswer& answer,
                  const Status& problem);
  void EndExchange();

  EventLoop* loop_;
  ApiConnection* connection_;
  WatchOptions options_;
  RetryPauses pauses_;
  std::minstd_rand random_;
  KnownObjects known_;
  int page_objects_;
  // The version up to which changes were reported. "0" stands for any.
  std::string version_ = "0";
  bool is_newest_required_ = false;  // of the next list
  std::string continue_;             // the place of its next page
  ListText page_{""};
  LineReader lines_;
  int64_t stream_begin_ns_ = 0;
  int64_t last_piece_ns_ = 0;
  ApiConnection::Id exchange_ = 0;           // 0: none
  std::optional<EventLoop::TimerId> timer_;  // of a pause, a turn or silence
  int problem_ = kSuccess;                   // that was reported last
  bool is_stopped_ = false;
};

Watch::Machine::Machine(ApiClient* client, WatchOptions options)
    : loop_(client->connection().loop()),
      connection_(&client->connection()),
      options_(std::move(options)),
      pauses_(options_.limits.first_pause_ns, options_.limits.longest_pause_ns),
      random_(std::random_device()()),
      page_objects_(options_.limits.page_objects),
      lines_(options_.limits.max_line) {}

void Watch::Machine::Stop() {
  loop_->AssertOnThread();
  is_stopped_ = true;
  EndExchange();
}

void Watch::Machine::EndExchange() {
  if (exchange_ != 0) connection_->Cancel(std::exchange(exchange_, 0));
  if (timer_) loop_->CancelTimer(*timer_);
  timer_.reset();
}

void Watch::Machine::List() {
  known_.BeginList();
  continue_.clear();
  RequestPage();
}

void Watch::Machine::RequestPage() {
  exchange_ = connection_->Exchange(
      {ListPath(options_, page_objects_, is_newest_required_ ? "" : version_,
                continue_),
       std::nullopt, options_.limits.page_ns, options_.limits.max_page},
      [this](HttpAnswer answer) { OnPage(std::move(answer)); });
}

void Watch::Machine::OnPage(HttpAnswer answer) {
  const auto self = shared_from_this();
  exchange_ = 0;
  if (const Status problem = StatusOf(answer); !problem.ok()) {
    return OnListFailure(answer, problem);
  }
  page_ = ListText(std::move(answer.body));
  ReadPage();
}

void Watch::Machine::ReadPage() {
  const auto self = shared_from_this();
  const int64_t end_ns = EventLoop::Now() + kTurnNs;
  std::string_view item;
  ListText::Next next;
  while ((next = page_.Take(&item)) == ListText::Next::kItem) {
    const auto object = ParseJson(item);
    if (!object) return Again(Resume::kList, UnexpectedAnswer());
    if (!Saw(*object)) return;
    if (EventLoop::Now() < end_ns) continue;
    timer_ = loop_->AddTimer(0, [this] {
      timer_.reset();
      ReadPage();
    });
    return;
  }
  if (next == ListText::Next::kEnd) return OnPageEnd();
  Again(Resume::kList, UnexpectedAnswer());
}

void Watch::Machine::OnPageEnd() {
  const Json metadata = ParseJson(page_.metadata()).value_or(Json());
  page_ = ListText("");
  const std::string version(TextAt(metadata, "resourceVersion"));
  continue_ = TextAt(metadata, "continue");
  if (version.empty() || continue_.size() > kMaxContinue) {
    return Again(Resume::kList, UnexpectedAnswer());
  }
  continue_.empty() ? EndList(version) : RequestPage();
}

void Watch::Machine::OnListFailure(const HttpAnswer& answer,
                                   const Status& problem) {
  const bool is_too_large = problem.code() == kErrOutOfResource;
  if (is_too_large) page_objects_ = std::max(page_objects_ / 4, 1);
  // A list of the server's cache may have one page for all objects.
  if (is_too_large || LacksVersion(answer)) is_newest_required_ = true;
  AgainAfter(Resume::kList, answer, problem);
}

void Watch::Machine::EndList(const std::string& version) {
  version_ = version;
  is_newest_required_ = false;
  for (const ObjectIdentity& vanished : known_.EndList()) {
    if (!Report(Change::kDeleted, ObjectWith(vanished))) return;
  }
  ReportProblem(Status());
  if (is_stopped_) return;
  if (options_.on_synced) options_.on_synced();
  if (!is_stopped_) Stream();
}

void Watch::Machine::Stream() {
  const int64_t shortest =
      std::max<int64_t>(options_.limits.stream_ns / kNsPerSecond, 1);
  std::uniform_int_distribution<int64_t> any(shortest, 2 * shortest);
  const int64_t seconds = any(random_);
  lines_ = LineReader(options_.limits.max_line);
  stream_begin_ns_ = last_piece_ns_ = EventLoop::Now();
  exchange_ = connection_->Stream(
      {StreamPath(options_, version_, seconds), std::nullopt,
       seconds * kNsPerSecond + kStreamGraceNs, kMaxRefusal},
      [this](std::string_view piece) { OnPiece(piece); },
      [this](const HttpAnswer& answer) { OnStreamEnd(answer); });
  WatchSilence();
}

void Watch::Machine::WatchSilence() {
  const int64_t left_ns =
      last_piece_ns_ + options_.limits.silence_ns - EventLoop::Now();
  timer_ = loop_->AddTimer(left_ns, [this] {
    timer_.reset();
    const int64_t silent_ns = EventLoop::Now() - last_piece_ns_;
    if (silent_ns < options_.limits.silence_ns) return WatchSilence();
    Again(Resume::kStream, Status());
  });
}

void Watch::Machine::OnPiece(std::string_view piece) {
  const auto self = shared_from_this();
  last_piece_ns_ = EventLoop::Now();
  lines_.Append(piece);
  // A line may end the stream.
  while (exchange_ != 0) {
    std::string_view line;
    const LineReader::Next next = lines_.Take(&line);
    if (next == LineReader::Next::kIncomplete) return;
    if (next == LineReader::Next::kTooLong) {
      return Again(Resume::kList, UnexpectedAnswer());
    }
    OnLine(line);
  }
}

void Watch::Machine::OnLine(std::string_view line) {
  const auto event = ParseWatchEvent(line);
  if (!event) return Again(Resume::kList, UnexpectedAnswer());
  if (event->kind == WatchEvent::Kind::kError) {
    return Again(Resume::kList, ProblemOf(event->object));
  }
  pauses_.Reset();
  ReportProblem(Status());
  if (is_stopped_) return;
  if (event->kind == WatchEvent::Kind::kBookmark) {
    const auto version =
        TextAt(At(event->object, "metadata"), "resourceVersion");
    if (!version.empty()) version_ = version;
  } else {
    OnChange(*event);
  }
}

void Watch::Machine::OnChange(const WatchEvent& event) {
  const auto identity = IdentityOf(event.object);
  if (!identity) return Again(Resume::kList, UnexpectedAnswer());
  version_ = identity->version;
  if (event.kind != WatchEvent::Kind::kDeleted) {
    Saw(event.object);
  } else if (known_.Remove(*identity)) {
    Report(Change::kDeleted, event.object);
  }
}

void Watch::Machine::OnStreamEnd(const HttpAnswer& answer) {
  const auto self = shared_from_this();
  exchange_ = 0;
  // Streams end. It is a problem only if the next one does not begin.
  if (answer.code == 200) {
    if (LastedLong()) pauses_.Reset();
    return Again(Resume::kStream, Status());
  }
  const bool is_version_refused = answer.code == 410 || answer.code == 400;
  AgainAfter(is_version_refused ? Resume::kList : Resume::kStream, answer,
             answer.code == 410 ? Status() : StatusOf(answer));
}

bool Watch::Machine::LastedLong() const {
  return EventLoop::Now() - stream_begin_ns_ >=
         options_.limits.longest_pause_ns;
}

bool Watch::Machine::Saw(const Json& object) {
  const auto identity = IdentityOf(object);
  if (!identity) return true;
  if (const auto replaced = known_.TakeReplaced(*identity)) {
    if (!Report(Change::kDeleted, ObjectWith(*replaced))) return false;
  }
  const KnownObjects::Difference difference = known_.Record(*identity);
  if (known_.size() > options_.limits.max_objects) {
    Again(Resume::kList, TooManyObjects());
    return false;
  }
  if (difference == KnownObjects::Difference::kNone) return true;
  const bool is_new = difference == KnownObjects::Difference::kNew;
  return Report(is_new ? Change::kAdded : Change::kModified, object);
}

bool Watch::Machine::Report(Change change, const Json& object) {
  options_.on_object(change, object);
  return !is_stopped_;
}

void Watch::Machine::ReportProblem(const Status& problem) {
  const bool is_known = std::exchange(problem_, problem.code()) == problem_;
  if (!is_known && options_.on_problem) options_.on_problem(problem);
}

void Watch::Machine::AgainAfter(Resume resume, const HttpAnswer& answer,
                                const Status& problem) {
  const bool has_other_token =
      answer.code == 401 && connection_->RenewToken(answer);
  Again(resume, has_other_token ? Status() : problem, answer.retry_after_ns);
}

void Watch::Machine::Again(Resume resume, const Status& problem,
                           std::optional<int64_t> requested_ns) {
  EndExchange();
  if (!problem.ok()) ReportProblem(problem);
  if (is_stopped_) return;
  timer_ = loop_->AddTimer(pauses_.Next(requested_ns), [this, resume] {
    timer_.reset();
    resume == Resume::kList ? List() : Stream();
  });
}

Watch::Watch(ApiClient* client, WatchOptions options)
    : machine_(std::make_shared<Machine>(client, std::move(options))) {
  machine_->List();
}

Watch::~Watch() { machine_->Stop(); }

}  // namespace canopy::kubernetes
