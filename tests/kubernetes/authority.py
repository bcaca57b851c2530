"""A certificate authority and the certificate of the fake API server, made by
openssl."""
import os
import subprocess

CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


def _openssl(directory, *words):
    subprocess.run(["openssl", *words], cwd=directory, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def make(directory, addresses):
    """Makes ca.crt, tls.crt and tls.key in DIRECTORY. The certificate is for the
    names of the service `kubernetes` and for IP ADDRESSES."""
    names = ["DNS:localhost", "DNS:kubernetes", "DNS:kubernetes.default",
             "DNS:kubernetes.default.svc", *(f"IP:{one}" for one in addresses)]
    with open(os.path.join(directory, "names"), "w", encoding="utf-8") as file:
        file.write(f"subjectAltName={','.join(names)}\n"
                   "extendedKeyUsage=serverAuth\n")
    _openssl(directory, "req", "-x509", *CURVE, "-days", "2", "-subj",
             "/CN=kubernetes", "-keyout", "ca.key", "-out", "ca.crt")
    _openssl(directory, "req", *CURVE, "-subj", "/CN=kube-apiserver", "-keyout",
             "tls.key", "-out", "tls.csr")
    _openssl(directory, "x509", "-req", "-in", "tls.csr", "-CA", "ca.crt",
             "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile",
             "names", "-out", "tls.crt")
