#include "server/pmi/pmi2_wire.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "server/pmi/pmi2_spawn.h"

namespace canopy::pmi {
namespace {

constexpr size_t kMaxKey = 64;
// The limit of the text that an answer repeats.
constexpr size_t kMaxThread = 256;

struct CommandForm {
  std::string_view command;
  Operation operation;
};

constexpr CommandForm kCommandForms[] = {
    {"fullinit", Operation::kFullInit},
    {"finalize", Operation::kFinalize},
    {"abort", Operation::kAbort},
    {"job-getid", Operation::kJobName},
    {"job-connect", Operation::kConnect},
    {"job-disconnect", Operation::kDisconnect},
    {"kvs-put", Operation::kPut},
    {"kvs-get", Operation::kGet},
    {"kvs-fence", Operation::kFence},
    {"ring", Operation::kRing},
    {"info-putnodeattr", Operation::kPutNodeAttribute},
    {"info-getnodeattr", Operation::kGetNodeAttribute},
    {"info-getjobattr", Operation::kGetJobAttribute},
    {"name-publish", Operation::kPublish},
    {"name-unpublish", Operation::kUnpublish},
    {"name-lookup", Operation::kLookup},
    {"spawn", Operation::kSpawn},
};

bool IsKeyCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '-' || c == '_';
}

bool IsKey(std::string_view text) {
  return !text.empty() && text.size() <= kMaxKey &&
         std::ranges::all_of(text, IsKeyCharacter);
}

// Removes a value and the semicolon after it. Returns no value if there is no
// semicolon.
std::optional<std::string> TakeValue(std::string_view* text) {
  std::string value;
  for (;;) {
    const size_t end = text->find(';');
    if (end == text->npos) return std::nullopt;
    value.append(text->substr(0, end));
    text->remove_prefix(end + 1);
    if (!text->starts_with(';')) return value;
    value.push_back(';');
    text->remove_prefix(1);
  }
}

template <typename Number>
std::optional<Number> NumberIn(std::string_view text) {
  Number number = 0;
  const auto end =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size())
    return std::nullopt;
  return number;
}

// Returns the first value of that name, or an empty string.
const std::string& FieldOf(const Pairs& pairs, std::string_view key) {
  static const std::string none;
  const auto it = std::ranges::find(pairs, key, &Pairs::value_type::first);
  return it == pairs.end() ? none : it->second;
}

bool IsTrue(const std::string& text) {
  return text == "TRUE" || text == "true";
}

void ReadAbort(const Pairs& pairs, Request* request) {
  // Some clients send an exit code, and others only whether the whole job ends.
  request->exit_code = NumberIn<int>(FieldOf(pairs, "exitcode")).value_or(1);
  const std::string& world = FieldOf(pairs, "isworld");
  request->aborts_alone = !world.empty() && !IsTrue(world);
  const std::string& text = FieldOf(pairs, "msg");
  request->value = text.empty() ? FieldOf(pairs, "message") : text;
}

// Reads a ring. Clients send the same value to both neighbours, and a count of
// one.
void ReadRing(const Pairs& pairs, Request* request) {
  request->value = FieldOf(pairs, "ring-left");
  request->malformed = FieldOf(pairs, "ring-right") != request->value ||
                       FieldOf(pairs, "ring-count") != "1";
}

void ReadFields(const Pairs& pairs, Request* request) {
  const Operation operation = request->operation;
  const bool is_name =
      operation >= Operation::kPublish && operation <= Operation::kLookup;
  request->job = FieldOf(pairs, "jobid");
  request->key = FieldOf(pairs, is_name ? "name" : "key");
  request->value = FieldOf(pairs, is_name ? "port" : "value");
  request->source = NumberIn<Rank>(FieldOf(pairs, "srcid"));
  request->is_threaded = IsTrue(FieldOf(pairs, "threaded"));
  request->waits = IsTrue(FieldOf(pairs, "wait"));
  if (operation == Operation::kAbort) ReadAbort(pairs, request);
  if (operation == Operation::kRing) ReadRing(pairs, request);
  if (operation != Operation::kSpawn) return;
  Result<std::string> call = SpawnCallOfPairs(pairs);
  if (call.ok()) request->spawn = std::move(call).value();
}

void Add(std::string* message, std::string_view key, std::string_view value) {
  message->append(key).push_back('=');
  for (const char c : value) {
    message->push_back(c);
    if (c == ';') message->push_back(c);
  }
  message->push_back(';');
}

void AddFound(std::string* message, const Reply& reply) {
  Add(message, "found", reply.value ? "TRUE" : "FALSE");
  if (reply.value) Add(message, "value", *reply.value);
}

void AddResult(std::string* message, Operation operation, const Reply& reply) {
  switch (operation) {
    case Operation::kFullInit:
    case Operation::kRing:
      for (const auto& [name, value] : reply.facts) Add(message, name, value);
      return;
    case Operation::kGet:
    case Operation::kGetNodeAttribute:
    case Operation::kGetJobAttribute:
      return AddFound(message, reply);
    case Operation::kLookup:
      // Some clients read the value, others the port.
      AddFound(message, reply);
      return Add(message, "port", reply.value.value_or(""));
    case Operation::kJobName:
    case Operation::kSpawn:
      return Add(message, "jobid", reply.value.value_or(""));
    case Operation::kConnect:
      // Data is not copied from one job to the other.
      return Add(message, "kvscopy", "FALSE");
    default:
      return;
  }
}

std::string WithHeader(const std::string& message) {
  const std::string length = std::to_string(message.size());
  return std::string(kHeaderSize - std::min(length.size(), kHeaderSize), ' ') +
         length + message;
}

}  // namespace

std::optional<size_t> LengthIn(std::string_view header) {
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  header = header.substr(0, header.find_last_not_of(' ') + 1);
  const auto length = NumberIn<size_t>(header);
  if (!length || *length < 1 || *length > kMaxMessage) return std::nullopt;
  return length;
}

std::optional<Pairs> PairsIn(std::string_view message) {
  Pairs pairs;
  while (!message.empty()) {
    const size_t equals = message.find('=');
    if (equals == message.npos) return std::nullopt;
    const std::string_view key = message.substr(0, equals);
    message.remove_prefix(equals + 1);
    std::optional<std::string> value = TakeValue(&message);
    if (!IsKey(key) || !value) return std::nullopt;
    pairs.emplace_back(key, *std::move(value));
  }
  return pairs;
}

Request ParseMessage(std::string_view message) {
  constexpr std::string_view kBegin = "cmd=";
  Request request;
  if (!message.starts_with(kBegin)) return request;
  message.remove_prefix(kBegin.size());
  const std::optional<std::string> name = TakeValue(&message);
  if (!name || !IsKey(*name)) return request;
  request.name = *name;
  const auto* const form =
      std::ranges::find(kCommandForms, *name, &CommandForm::command);
  if (form != std::end(kCommandForms)) request.operation = form->operation;
  const std::optional<Pairs> pairs = PairsIn(message);
  request.malformed = !pairs || FieldOf(*pairs, "thrid").size() > kMaxThread;
  if (request.malformed) return request;
  request.thread = FieldOf(*pairs, "thrid");
  ReadFields(*pairs, &request);
  return request;
}

std::string AnswerMessage(const Request& request, const Reply& reply) {
  std::string message;
  Add(&message, "cmd", request.name + "-response");
  if (!request.thread.empty()) Add(&message, "thrid", request.thread);
  Add(&message, "rc", std::to_string(reply.code));
  if (reply.code == 0) {
    AddResult(&message, request.operation, reply);
  } else if (!reply.problem.empty()) {
    Add(&message, "errmsg", reply.problem);
  }
  return WithHeader(message);
}

}  // namespace canopy::pmi
