#include "server/kubernetes/api/api_client.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/kubernetes/api/certificate_testing.h"
#include "server/kubernetes/api/http_server_testing.h"
#include "server/kubernetes/api/loop_testing.h"

namespace canopy::kubernetes {
namespace {

CallLimits QuickLimits() {
  CallLimits limits;
  limits.first_pause_ns = 1'000'000;
  limits.longest_pause_ns = 4'000'000;
  return limits;
}

class ApiClientTest : public testing::Test {
 protected:
  void MakeClient(const CallLimits& limits = QuickLimits()) {
    client_ = std::make_unique<ApiClient>(
        &loop_, ApiServer{server_.Url(), "", ""}, limits);
  }

  ApiClient::Done Store() {
    return [this](Result<Json> result) { result_ = std::move(result); };
  }
  Result<Json> Wait() {
    if (!RunUntil(&loop_, [this] { return result_.has_value(); })) {
      return Status(kErrTimeout, "the test hangs");
    }
    return *std::exchange(result_, std::nullopt);
  }
  Result<Json> Get(const std::string& path) {
    client_->Get(path, Store());
    return Wait();
  }

  EventLoop loop_;
  HttpTestServer server_;
  std::unique_ptr<ApiClient> client_;
  std::optional<Result<Json>> result_;
};

std::string Refusal(const std::string& message) {
  return R"({"kind":"Status","message":")" + message + "\"}";
}

TEST_F(ApiClientTest, ReadsAnObject) {
  MakeClient();
  server_.Answer({200, R"({"kind":"Pod","metadata":{"name":"a"}})"});
  const auto pod = Get("/api/v1/namespaces/n/pods/a");
  ASSERT_TRUE(pod.ok()) << pod.status().message();
  EXPECT_EQ(TextAt(At(*pod, "metadata"), "name"), "a");
  const auto requests = server_.Requests();
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].method, "GET");
  EXPECT_EQ(requests[0].target, "/api/v1/namespaces/n/pods/a");
}

TEST_F(ApiClientTest, CreatesAnObject) {
  MakeClient();
  server_.Answer({201, R"({"kind":"Event"})"});
  client_->Post("/api/v1/namespaces/n/events", Json{{"reason", "Lost"}},
                Store());
  EXPECT_TRUE(Wait().ok());
  const auto requests = server_.Requests();
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].method, "POST");
  EXPECT_EQ(requests[0].body, R"({"reason":"Lost"})");
}

TEST_F(ApiClientTest, ReportsRefusalsWithTheServersExplanation) {
  MakeClient();
  const std::vector<std::pair<int, int>> codes = {
      {404, kErrNotFound},           {403, kErrNoPermissions},
      {401, kErrNoPermissions},      {409, kErrExists},
      {422, kErrBadParam},           {418, kErrServerFailedRequest},
      {302, kErrServerFailedRequest}};
  for (const auto& [http, status] : codes) {
    server_.Answer({http, Refusal("pods \\\"a\\\"\\u001b refused")});
    const auto answer = Get("/api/v1/pods");
    EXPECT_EQ(answer.code(), status) << http;
    EXPECT_NE(answer.status().message().find("pods \"a\"\\x1b refused"),
              std::string::npos)
        << answer.status().message();
  }
}

TEST_F(ApiClientTest, FollowsNoRedirection) {
  MakeClient();
  server_.Answer({307, "", {"Location: " + server_.Url() + "/other"}});
  EXPECT_EQ(Get("/a").code(), kErrServerFailedRequest);
  EXPECT_EQ(server_.Requests().size(), 1u);
}

TEST_F(ApiClientTest, RepeatsCallsThatTheServerFailsOrRejectsAsTooMany) {
  MakeClient();
  server_.Answer({500, "no JSON"});
  server_.Answer({429, Refusal("slow down")});
  server_.Answer({503, ""});
  server_.Answer({200, "{}"});
  EXPECT_TRUE(Get("/a").ok());
  EXPECT_EQ(server_.Requests().size(), 4u);
}

TEST_F(ApiClientTest, WaitsAsLongAsTheServerRequests) {
  MakeClient();
  server_.Answer({429, "", {"Retry-After: 1"}});
  server_.Answer({200, "{}"});
  const int64_t begin = EventLoop::Now();
  EXPECT_TRUE(Get("/a").ok());
  EXPECT_GE(EventLoop::Now() - begin, 1'000'000'000);
}

TEST_F(ApiClientTest, ACallFailsIfItsDeadlineIsBeforeTheNextAttempt) {
  MakeClient();
  server_.Answer({429, Refusal("overloaded"), {"Retry-After: 31"}});
  const auto answer = Get("/a");
  EXPECT_EQ(answer.code(), kErrServerFailedRequest);
  EXPECT_NE(answer.status().message().find("overloaded"), std::string::npos);
  EXPECT_EQ(server_.Requests().size(), 1u);
}

TEST_F(ApiClientTest, RepeatsACallUntilTheServerIsBack) {
  MakeClient();
  server_.GoAway();
  client_->Get("/a", Store());
  int rounds = 0;
  RunUntil(&loop_, [&] { return ++rounds > 20; });
  EXPECT_FALSE(result_.has_value());
  server_.Answer({200, "{}"});
  server_.ComeBack();
  EXPECT_TRUE(Wait().ok());
}

TEST_F(ApiClientTest, ReportsAServerThatStaysAway) {
  CallLimits limits = QuickLimits();
  limits.deadline_ns = 30'000'000;
  MakeClient(limits);
  server_.GoAway();
  EXPECT_EQ(Get("/a").code(), kErrUnreach);
}

TEST_F(ApiClientTest, AnAttemptEndsAfterItsTime) {
  CallLimits limits = QuickLimits();
  limits.attempt_ns = 50'000'000;
  MakeClient(limits);
  server_.Answer({.is_silent = true});
  server_.Answer({200, "{}"});
  EXPECT_TRUE(Get("/a").ok());
  limits.deadline_ns = 60'000'000;
  MakeClient(limits);
  server_.Answer({.is_silent = true});
  server_.Answer({.is_silent = true});
  EXPECT_EQ(Get("/a").code(), kErrTimeout);
}

TEST_F(ApiClientTest, RejectsAnswersThatAreTooLarge) {
  CallLimits limits = QuickLimits();
  limits.max_object = 100;
  MakeClient(limits);
  server_.Answer({200, "\"" + std::string(98, 'x') + "\""});
  EXPECT_TRUE(Get("/a").ok());
  server_.Answer({200, "\"" + std::string(99, 'x') + "\""});
  EXPECT_EQ(Get("/a").code(), kErrOutOfResource);
  // A body whose length its head does not state.
  server_.Answer({500, std::string(101, 'x'), {}, /*is_stream=*/true});
  EXPECT_EQ(Get("/a").code(), kErrOutOfResource);
}

TEST_F(ApiClientTest, RejectsAnswersThatAreNoJson) {
  MakeClient();
  for (const std::string& body :
       {std::string(), std::string("{"), std::string("<html>"),
        std::string(200, '['), std::string("\"\xff\"")}) {
    server_.Answer({200, body});
    EXPECT_EQ(Get("/a").code(), kErrUnpackFailure) << body;
  }
}

TEST_F(ApiClientTest, RejectsPathsThatCannotStandInARequest) {
  MakeClient();
  for (const char* path : {"", "a", "/a b", "/a\r\nHost: b", "/\xc3\xa4"}) {
    EXPECT_EQ(Get(path).code(), kErrBadParam) << path;
  }
  EXPECT_TRUE(server_.Requests().empty());
}

TEST_F(ApiClientTest, LimitsTheNumberOfCalls) {
  CallLimits limits;
  limits.first_pause_ns = limits.longest_pause_ns = 3'000'000'000;
  MakeClient(limits);
  server_.GoAway();
  for (size_t i = 0; i < ApiClient::kMaxCalls; ++i) {
    client_->Get("/a", [](const Result<Json>&) { FAIL(); });
  }
  EXPECT_EQ(Get("/a").code(), kErrOutOfResource);
}

TEST_F(ApiClientTest, ACancelledCallHasNoCallback) {
  MakeClient();
  const auto cancelled =
      client_->Get("/a", [](const Result<Json>&) { FAIL(); });
  client_->Cancel(client_->Get("", [](const Result<Json>&) { FAIL(); }));
  RunUntil(&loop_, [this] { return !server_.Requests().empty(); });
  client_->Cancel(cancelled);
  client_->Cancel(cancelled);
  server_.Answer({200, "{}"});
  server_.Answer({200, "{}"});
  EXPECT_TRUE(Get("/b").ok());
}

TEST_F(ApiClientTest, ADestroyedClientCallsNoCallbacks) {
  MakeClient();
  client_->Get("/a", [](const Result<Json>&) { FAIL(); });
  RunUntil(&loop_, [this] { return !server_.Requests().empty(); });
  client_->Get("", [](const Result<Json>&) { FAIL(); });
  client_.reset();
  server_.Answer({200, "{}"});
  for (int i = 0; i < 5; ++i) loop_.RunOnce(5);
}

TEST_F(ApiClientTest, ADestroyedClientRepeatsNoCalls) {
  MakeClient();
  server_.Answer({503, ""});
  client_->Get("/a", [](const Result<Json>&) { FAIL(); });
  RunUntil(&loop_, [this] { return !server_.Requests().empty(); });
  loop_.RunOnce(5);
  client_.reset();
  for (int i = 0; i < 5; ++i) loop_.RunOnce(5);
  EXPECT_EQ(server_.Requests().size(), 1u);
}

TEST_F(ApiClientTest, ACallbackMayDestroyTheClientWithItsOtherCalls) {
  MakeClient();
  server_.Answer({200, "{}"});
  server_.Answer({200, "{}"});
  int calls = 0;
  const auto done = [&](const Result<Json>&) {
    ++calls;
    client_.reset();
  };
  client_->Get("/a", done);
  client_->Get("/b", done);
  RunUntil(&loop_, [&] { return calls > 0; });
  for (int i = 0; i < 5; ++i) loop_.RunOnce(5);
  EXPECT_EQ(calls, 1);
}

TEST_F(ApiClientTest, ACallbackMayMakeCalls) {
  MakeClient();
  server_.Answer({404, ""});
  server_.Answer({200, "{}"});
  client_->Get("/a", [this](const Result<Json>& first) {
    EXPECT_EQ(first.code(), kErrNotFound);
    client_->Get("/b", Store());
  });
  EXPECT_TRUE(Wait().ok());
}

TEST_F(ApiClientTest, IgnoresTheProxiesOfTheEnvironment) {
  for (const char* name : {"http_proxy", "https_proxy", "all_proxy"}) {
    setenv(name, "http://127.0.0.1:1", 1);
  }
  MakeClient();
  server_.Answer({200, "{}"});
  EXPECT_TRUE(Get("/a").ok());
  for (const char* name : {"http_proxy", "https_proxy", "all_proxy"}) {
    unsetenv(name);
  }
}

// A directory with the credentials of a pod, and a server with TLS.
class ApiClientTlsTest : public testing::Test {
 protected:
  ApiClientTlsTest()
      : directory_(testing::TempDir() + "/api_client_" +
                   std::to_string(getpid())),
        ca_file_(directory_ + ".crt"),
        token_file_(directory_ + ".token") {
    certificate_.Write(ca_file_);
    WriteToken("first");
  }
  ~ApiClientTlsTest() override {
    unlink(ca_file_.c_str());
    unlink(token_file_.c_str());
  }

  void WriteToken(const std::string& token) {
    std::ofstream(token_file_) << token << "\n";
  }
  Result<Json> Get(ApiClient* client) {
    std::optional<Result<Json>> result;
    client->Get("/a", [&](Result<Json> got) { result = std::move(got); });
    if (!RunUntil(&loop_, [&] { return result.has_value(); })) abort();
    return *result;
  }
  ApiServer Server() { return {server_.Url(), ca_file_, token_file_}; }

  std::string directory_;
  std::string ca_file_;
  std::string token_file_;
  EventLoop loop_;
  TestCertificate certificate_{"127.0.0.1"};
  HttpTestServer server_{&certificate_};
};

TEST_F(ApiClientTlsTest, SendsTheTokenToTheServerOfTheCertificate) {
  ApiClient client(&loop_, Server());
  server_.Answer({200, "{}"});
  const auto answer = Get(&client);
  EXPECT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(server_.Requests().at(0).authorization, "Bearer first");
}

TEST_F(ApiClientTlsTest, SendsANewTokenIfTheServerRejectsTheOldOne) {
  ApiClient client(&loop_, Server());
  server_.Answer({200, "{}"});
  EXPECT_TRUE(Get(&client).ok());
  WriteToken("second");
  server_.Answer({401, "{}"});
  server_.Answer({200, "{}"});
  EXPECT_TRUE(Get(&client).ok());
  const auto requests = server_.Requests();
  EXPECT_EQ(requests.at(1).authorization, "Bearer first");
  EXPECT_EQ(requests.at(2).authorization, "Bearer second");
  // Without another token, a further attempt would be rejected too.
  server_.Answer({401, "{}"});
  EXPECT_EQ(Get(&client).code(), kErrNoPermissions);
  EXPECT_EQ(server_.Requests().size(), 4u);
}

TEST_F(ApiClientTlsTest, TrustsNoOtherCertificates) {
  TestCertificate("127.0.0.1").Write(ca_file_);
  ApiClient other(&loop_, Server());
  EXPECT_EQ(Get(&other).code(), kErrHandshakeFailed);
  ApiClient none(&loop_, {server_.Url(), "", token_file_});
  EXPECT_EQ(Get(&none).code(), kErrHandshakeFailed);
  ApiClient missing(&loop_, {server_.Url(), "/missing", token_file_});
  EXPECT_EQ(Get(&missing).code(), kErrHandshakeFailed);
  EXPECT_TRUE(server_.Requests().empty());
}

TEST_F(ApiClientTlsTest, RejectsACertificateOfAnotherAddress) {
  const TestCertificate elsewhere("127.0.0.2");
  HttpTestServer server(&elsewhere);
  elsewhere.Write(ca_file_);
  ApiClient client(&loop_, {server.Url(), ca_file_, token_file_});
  EXPECT_EQ(Get(&client).code(), kErrHandshakeFailed);
  EXPECT_TRUE(server.Requests().empty());
}

TEST_F(ApiClientTlsTest, SendsNoTokenInPlainText) {
  HttpTestServer plain;
  plain.Answer({200, "{}"});
  ApiClient client(&loop_, {plain.Url(), ca_file_, token_file_});
  EXPECT_TRUE(Get(&client).ok());
  EXPECT_EQ(plain.Requests().at(0).authorization, "");
}

}  // namespace
}  // namespace canopy::kubernetes
