#include "client/cli/host_module/findings.h"

#include <algorithm>
#include <string>
#include <utility>

namespace canopy::cli {
namespace {

// One cause can fail many expectations, so only the first failures are
// reported.
constexpr int kMaxProblems = 5;

// Returns the text for an attribute of XML, which cannot contain control
// characters.
std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < ' ' ? '?' : c;
    }
  }
  return out;
}

}  // namespace

void Findings::Begin(const std::string& name) {
  case_ = slot_->add_cases();
  case_->set_name(name);
  case_->set_result("ok");
}

bool Findings::Expect(bool holds, const std::string& expected,
                      const std::string& got) {
  if (!holds) Fail("expected " + expected + "; got " + got);
  return holds;
}

void Findings::Fail(const std::string& problem) {
  slot_->set_result("failed");
  if (case_ != nullptr) {
    case_->set_result("failed");
    case_->add_problems(problem);
  }
  const auto& known = slot_->problems();
  if (known.size() >= kMaxProblems) return;
  if (std::ranges::find(known, problem) == known.end()) {
    slot_->add_problems(problem);
  }
}

namespace {

template <typename Texts>
Json ListOf(const Texts& texts) {
  Json out = Json::array();
  for (const std::string& text : texts) out.push_back(text);
  return out;
}

Json CasesJson(const v1::SlotCheck& slot) {
  Json out = Json::array();
  for (const v1::CaseCheck& each : slot.cases()) {
    Json one;
    one["name"] = each.name();
    one["result"] = each.result();
    one["problems"] = ListOf(each.problems());
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace

Json CheckDocument(const v1::HostModuleCheck& check) {
  Json out;
  out["name"] = TextOrNull(check.name());
  out["version"] = TextOrNull(check.version());
  out["conforms"] = check.conforms();
  out["slots"] = Json::array();
  for (const v1::SlotCheck& slot : check.slots()) {
    Json one;
    one["slot"] = slot.slot();
    one["result"] = slot.result();
    one["problems"] = ListOf(slot.problems());
    one["cases"] = CasesJson(slot);
    out["slots"].push_back(std::move(one));
  }
  return out;
}

std::string JUnitText(const v1::HostModuleCheck& check) {
  int cases = 0;
  int failures = 0;
  std::string body;
  for (const v1::SlotCheck& slot : check.slots()) {
    for (const v1::CaseCheck& one : slot.cases()) {
      ++cases;
      body += "  <testcase classname=\"" + Escaped(slot.slot()) + "\" name=\"" +
              Escaped(one.name()) + "\">\n";
      for (const std::string& problem : one.problems()) {
        body += "    <failure message=\"" + Escaped(problem) + "\"/>\n";
      }
      failures += one.problems().empty() ? 0 : 1;
      body += "  </testcase>\n";
    }
  }
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"" +
         Escaped("canopy host-module check of " + check.name()) +
         "\" tests=\"" + std::to_string(cases) + "\" failures=\"" +
         std::to_string(failures) + "\">\n" + body + "</testsuite>\n";
}

std::string CheckText(const v1::HostModuleCheck& check) {
  constexpr size_t kColumn = 22;
  std::string text;
  for (const v1::SlotCheck& slot : check.slots()) {
    std::string line = slot.slot();
    line.resize(std::max(kColumn, line.size() + 2), ' ');
    line += slot.result() == "ok"       ? "OK"
            : slot.result() == "failed" ? "FAILED"
                                        : "NOT IMPLEMENTED";
    if (!slot.problems().empty()) line += "  " + slot.problems(0);
    text += line + "\n";
    for (int i = 1; i < slot.problems_size(); ++i) {
      text += std::string(kColumn + 8, ' ') + slot.problems(i) + "\n";
    }
  }
  return text;
}

}  // namespace canopy::cli
