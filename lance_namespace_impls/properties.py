"""The properties of each built-in implementation, as dicts for type checkers.

Generated from the configuration classes by ``python -m docs._generate.properties``.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TypeAlias, TypedDict

__all__ = [
    "DirectoryProperties",
    "GlueProperties",
    "Hive2Properties",
    "Hive3Properties",
    "HiveProperties",
    "IcebergProperties",
    "MemoryProperties",
    "PolarisProperties",
    "RestProperties",
    "SqlProperties",
    "UnityProperties",
]

Text: TypeAlias = str | PathLike[str]
Number: TypeAlias = float | str
Flag: TypeAlias = bool | str
Texts: TypeAlias = str | Sequence[str]

# fmt: off
_Storage = TypedDict("_Storage", {
    "storage.access_key_id": Text, "storage.account_key": Text, "storage.account_name": Text,
    "storage.allow_http": Text, "storage.allow_invalid_certificates": Text,
    "storage.anonymous": Text, "storage.application_credentials": Text,
    "storage.authority_host": Text, "storage.authority_id": Text, "storage.aws_access_key_id": Text,
    "storage.aws_endpoint": Text, "storage.aws_region": Text, "storage.aws_secret_access_key": Text,
    "storage.aws_session_token": Text, "storage.azure_authority_host": Text,
    "storage.azure_client_id": Text, "storage.azure_client_secret": Text,
    "storage.azure_storage_account_key": Text, "storage.azure_storage_account_name": Text,
    "storage.azure_storage_sas_token": Text, "storage.azure_tenant_id": Text,
    "storage.base_url": Text, "storage.bucket": Text, "storage.bucket_name": Text,
    "storage.bypass_ssl_verify": Text, "storage.checksum_algorithm": Text,
    "storage.client_id": Text, "storage.client_max_retries": Text,
    "storage.client_retry_timeout": Text, "storage.client_secret": Text,
    "storage.conditional_put": Text, "storage.connect_timeout": Text,
    "storage.container_credentials_full_uri": Text,
    "storage.container_credentials_relative_uri": Text, "storage.container_name": Text,
    "storage.content_type": Text, "storage.copy_if_not_exists": Text,
    "storage.default_content_type": Text, "storage.default_region": Text,
    "storage.disable_tagging": Text, "storage.download_retry_count": Text, "storage.endpoint": Text,
    "storage.endpoint_url": Text, "storage.endpoint_url_sts": Text,
    "storage.expires_at_millis": Text, "storage.federated_token_file": Text,
    "storage.google_application_credentials": Text, "storage.google_service_account": Text,
    "storage.google_service_account_key": Text, "storage.http1_only": Text,
    "storage.http2_keep_alive_interval": Text, "storage.http2_keep_alive_timeout": Text,
    "storage.http2_keep_alive_while_idle": Text, "storage.http2_max_frame_size": Text,
    "storage.http2_only": Text, "storage.identity_endpoint": Text, "storage.imdsv1_fallback": Text,
    "storage.io_threads": Text, "storage.max_retries": Text, "storage.metadata_endpoint": Text,
    "storage.msi_endpoint": Text, "storage.pool_idle_timeout": Text,
    "storage.pool_max_idle_per_host": Text, "storage.project_id": Text,
    "storage.proxy_ca_certificate": Text, "storage.proxy_excludes": Text, "storage.proxy_url": Text,
    "storage.randomize_addresses": Text, "storage.region": Text, "storage.request_payer": Text,
    "storage.request_timeout": Text, "storage.retry_timeout": Text, "storage.role_arn": Text,
    "storage.role_session_name": Text, "storage.root_certificate": Text, "storage.s3_express": Text,
    "storage.sas_token": Text, "storage.secret_access_key": Text,
    "storage.server_side_encryption": Text, "storage.service_account": Text,
    "storage.service_account_key": Text, "storage.session_token": Text,
    "storage.skip_signature": Text, "storage.tenant_id": Text, "storage.timeout": Text,
    "storage.unsigned_payload": Text, "storage.upload_concurrency": Text,
    "storage.use_emulator": Text, "storage.use_fabric_endpoint": Text, "storage.use_opendal": Text,
    "storage.user_agent": Text, "storage.virtual_hosted_style_request": Text,
    "storage.web_identity_token_file": Text,
}, total=False)
_DirectoryProperties = TypedDict("_DirectoryProperties", {
    "cache_mib": Number, "dir.cache_mib": Number, "skip_unreadable": Flag,
    "dir.skip_unreadable": Flag, "confine_locations": Flag, "dir.confine_locations": Flag,
    "allow_locations": Texts, "dir.allow_locations": Texts, "path": Text, "dir.path": Text,
    "root": Text, "dir.root": Text, "manifest": Text, "dir.manifest": Text,
    "manifest_enabled": Text, "dir.manifest_enabled": Text, "dir_listing_enabled": Flag,
    "dir.dir_listing_enabled": Flag, "table_version_tracking_enabled": Flag,
    "dir.table_version_tracking_enabled": Flag, "commit_retries": Number,
    "dir.commit_retries": Number, "inline_optimization_enabled": Flag,
    "dir.inline_optimization_enabled": Flag,
}, total=False)


class DirectoryProperties(_DirectoryProperties, _Storage, total=False):
    """The properties of ``dir``; a key may have the prefix ``dir.``."""


_GlueProperties = TypedDict("_GlueProperties", {
    "root": Text, "glue.root": Text, "cache_mib": Number, "glue.cache_mib": Number,
    "skip_unreadable": Flag, "glue.skip_unreadable": Flag, "confine_locations": Flag,
    "glue.confine_locations": Flag, "allow_locations": Texts, "glue.allow_locations": Texts,
    "catalog_id": Text, "glue.catalog_id": Text, "endpoint": Text, "glue.endpoint": Text,
    "region": Text, "glue.region": Text, "profile_name": Text, "glue.profile_name": Text,
    "access_key_id": Text, "glue.access_key_id": Text, "secret_access_key": Text,
    "glue.secret_access_key": Text, "session_token": Text, "glue.session_token": Text,
    "assume_role_arn": Text, "glue.assume_role_arn": Text, "assume_role_region": Text,
    "glue.assume_role_region": Text, "assume_role_external_id": Text,
    "glue.assume_role_external_id": Text, "assume_role_session_name": Text,
    "glue.assume_role_session_name": Text, "assume_role_timeout_sec": Number,
    "glue.assume_role_timeout_sec": Number, "max_retries": Number, "glue.max_retries": Number,
    "retry_mode": Text, "glue.retry_mode": Text, "connect_timeout": Number,
    "glue.connect_timeout": Number, "connect_timeout_millis": Number,
    "glue.connect_timeout_millis": Number, "read_timeout": Number, "glue.read_timeout": Number,
    "read_timeout_millis": Number, "glue.read_timeout_millis": Number,
    "default_namespace_type": Text, "glue.default_namespace_type": Text,
}, total=False)


class GlueProperties(_GlueProperties, _Storage, total=False):
    """The properties of ``glue``; a key may have the prefix ``glue.``."""


_Hive2Properties = TypedDict("_Hive2Properties", {
    "cache_mib": Number, "hive2.cache_mib": Number, "skip_unreadable": Flag,
    "hive2.skip_unreadable": Flag, "confine_locations": Flag, "hive2.confine_locations": Flag,
    "allow_locations": Texts, "hive2.allow_locations": Texts, "tls_verify": Flag,
    "hive2.tls_verify": Flag, "tls.verify": Flag, "hive2.tls.verify": Flag,
    "tls_verify_hostname": Flag, "hive2.tls_verify_hostname": Flag, "tls.assert_hostname": Flag,
    "hive2.tls.assert_hostname": Flag, "ca_bundle": Text, "hive2.ca_bundle": Text,
    "tls.ssl_ca_cert": Text, "hive2.tls.ssl_ca_cert": Text, "client_cert": Text,
    "hive2.client_cert": Text, "tls.cert_file": Text, "hive2.tls.cert_file": Text,
    "client_key": Text, "hive2.client_key": Text, "tls.key_file": Text, "hive2.tls.key_file": Text,
    "root": Text, "hive2.root": Text, "uri": Texts, "hive2.uri": Texts,
    "hadoop.hive.metastore.uris": Texts, "hive2.hadoop.hive.metastore.uris": Texts,
    "client.pool-size": Number, "hive2.client.pool-size": Number, "connect_timeout": Number,
    "hive2.connect_timeout": Number, "connect_timeout_millis": Number,
    "hive2.connect_timeout_millis": Number, "read_timeout": Number, "hive2.read_timeout": Number,
    "read_timeout_millis": Number, "hive2.read_timeout_millis": Number, "ugi": Text,
    "hive2.ugi": Text, "tls": Flag, "hive2.tls": Flag, "ssl": Flag, "hive2.ssl": Flag,
    "hive.metastore.use.SSL": Flag, "hive2.hive.metastore.use.SSL": Flag, "metastore.use.SSL": Flag,
    "hive2.metastore.use.SSL": Flag, "hadoop.hive.metastore.use.SSL": Flag,
    "hive2.hadoop.hive.metastore.use.SSL": Flag, "kerberos": Flag, "hive2.kerberos": Flag,
    "hive.metastore.sasl.enabled": Flag, "hive2.hive.metastore.sasl.enabled": Flag,
    "metastore.sasl.enabled": Flag, "hive2.metastore.sasl.enabled": Flag,
    "hadoop.hive.metastore.sasl.enabled": Flag, "hive2.hadoop.hive.metastore.sasl.enabled": Flag,
    "hive.kerberos-authentication": Flag, "hive2.hive.kerberos-authentication": Flag,
    "kerberos-authentication": Flag, "hive2.kerberos-authentication": Flag,
    "kerberos_principal": Text, "hive2.kerberos_principal": Text,
    "hive.metastore.kerberos.principal": Text, "hive2.hive.metastore.kerberos.principal": Text,
    "metastore.kerberos.principal": Text, "hive2.metastore.kerberos.principal": Text,
    "hadoop.hive.metastore.kerberos.principal": Text,
    "hive2.hadoop.hive.metastore.kerberos.principal": Text, "hive.kerberos-service-name": Text,
    "hive2.hive.kerberos-service-name": Text, "kerberos-service-name": Text,
    "hive2.kerberos-service-name": Text, "kerberos_client_principal": Text,
    "hive2.kerberos_client_principal": Text, "hive.metastore.client.kerberos.principal": Text,
    "hive2.hive.metastore.client.kerberos.principal": Text,
    "metastore.client.kerberos.principal": Text, "hive2.metastore.client.kerberos.principal": Text,
    "hadoop.hive.metastore.client.kerberos.principal": Text,
    "hive2.hadoop.hive.metastore.client.kerberos.principal": Text, "kerberos_keytab": Text,
    "hive2.kerberos_keytab": Text, "kerberos_cache": Text, "hive2.kerberos_cache": Text,
    "kerberos_protection": Text, "hive2.kerberos_protection": Text, "hadoop.rpc.protection": Text,
    "hive2.hadoop.rpc.protection": Text, "hadoop.hadoop.rpc.protection": Text,
    "hive2.hadoop.hadoop.rpc.protection": Text, "user": Text, "hive2.user": Text,
    "hive.metastore.client.plain.username": Text,
    "hive2.hive.metastore.client.plain.username": Text, "metastore.client.plain.username": Text,
    "hive2.metastore.client.plain.username": Text,
    "hadoop.hive.metastore.client.plain.username": Text,
    "hive2.hadoop.hive.metastore.client.plain.username": Text, "password": Text,
    "hive2.password": Text, "locks": Flag, "hive2.locks": Flag,
}, total=False)


class Hive2Properties(_Hive2Properties, _Storage, total=False):
    """The properties of ``hive2``; a key may have the prefix ``hive2.``."""


_Hive3Properties = TypedDict("_Hive3Properties", {
    "cache_mib": Number, "hive3.cache_mib": Number, "skip_unreadable": Flag,
    "hive3.skip_unreadable": Flag, "confine_locations": Flag, "hive3.confine_locations": Flag,
    "allow_locations": Texts, "hive3.allow_locations": Texts, "tls_verify": Flag,
    "hive3.tls_verify": Flag, "tls.verify": Flag, "hive3.tls.verify": Flag,
    "tls_verify_hostname": Flag, "hive3.tls_verify_hostname": Flag, "tls.assert_hostname": Flag,
    "hive3.tls.assert_hostname": Flag, "ca_bundle": Text, "hive3.ca_bundle": Text,
    "tls.ssl_ca_cert": Text, "hive3.tls.ssl_ca_cert": Text, "client_cert": Text,
    "hive3.client_cert": Text, "tls.cert_file": Text, "hive3.tls.cert_file": Text,
    "client_key": Text, "hive3.client_key": Text, "tls.key_file": Text, "hive3.tls.key_file": Text,
    "root": Text, "hive3.root": Text, "uri": Texts, "hive3.uri": Texts,
    "hadoop.hive.metastore.uris": Texts, "hive3.hadoop.hive.metastore.uris": Texts,
    "client.pool-size": Number, "hive3.client.pool-size": Number, "connect_timeout": Number,
    "hive3.connect_timeout": Number, "connect_timeout_millis": Number,
    "hive3.connect_timeout_millis": Number, "read_timeout": Number, "hive3.read_timeout": Number,
    "read_timeout_millis": Number, "hive3.read_timeout_millis": Number, "ugi": Text,
    "hive3.ugi": Text, "tls": Flag, "hive3.tls": Flag, "ssl": Flag, "hive3.ssl": Flag,
    "hive.metastore.use.SSL": Flag, "hive3.hive.metastore.use.SSL": Flag, "metastore.use.SSL": Flag,
    "hive3.metastore.use.SSL": Flag, "hadoop.hive.metastore.use.SSL": Flag,
    "hive3.hadoop.hive.metastore.use.SSL": Flag, "kerberos": Flag, "hive3.kerberos": Flag,
    "hive.metastore.sasl.enabled": Flag, "hive3.hive.metastore.sasl.enabled": Flag,
    "metastore.sasl.enabled": Flag, "hive3.metastore.sasl.enabled": Flag,
    "hadoop.hive.metastore.sasl.enabled": Flag, "hive3.hadoop.hive.metastore.sasl.enabled": Flag,
    "hive.kerberos-authentication": Flag, "hive3.hive.kerberos-authentication": Flag,
    "kerberos-authentication": Flag, "hive3.kerberos-authentication": Flag,
    "kerberos_principal": Text, "hive3.kerberos_principal": Text,
    "hive.metastore.kerberos.principal": Text, "hive3.hive.metastore.kerberos.principal": Text,
    "metastore.kerberos.principal": Text, "hive3.metastore.kerberos.principal": Text,
    "hadoop.hive.metastore.kerberos.principal": Text,
    "hive3.hadoop.hive.metastore.kerberos.principal": Text, "hive.kerberos-service-name": Text,
    "hive3.hive.kerberos-service-name": Text, "kerberos-service-name": Text,
    "hive3.kerberos-service-name": Text, "kerberos_client_principal": Text,
    "hive3.kerberos_client_principal": Text, "hive.metastore.client.kerberos.principal": Text,
    "hive3.hive.metastore.client.kerberos.principal": Text,
    "metastore.client.kerberos.principal": Text, "hive3.metastore.client.kerberos.principal": Text,
    "hadoop.hive.metastore.client.kerberos.principal": Text,
    "hive3.hadoop.hive.metastore.client.kerberos.principal": Text, "kerberos_keytab": Text,
    "hive3.kerberos_keytab": Text, "kerberos_cache": Text, "hive3.kerberos_cache": Text,
    "kerberos_protection": Text, "hive3.kerberos_protection": Text, "hadoop.rpc.protection": Text,
    "hive3.hadoop.rpc.protection": Text, "hadoop.hadoop.rpc.protection": Text,
    "hive3.hadoop.hadoop.rpc.protection": Text, "user": Text, "hive3.user": Text,
    "hive.metastore.client.plain.username": Text,
    "hive3.hive.metastore.client.plain.username": Text, "metastore.client.plain.username": Text,
    "hive3.metastore.client.plain.username": Text,
    "hadoop.hive.metastore.client.plain.username": Text,
    "hive3.hadoop.hive.metastore.client.plain.username": Text, "password": Text,
    "hive3.password": Text, "locks": Flag, "hive3.locks": Flag,
}, total=False)


class Hive3Properties(_Hive3Properties, _Storage, total=False):
    """The properties of ``hive3``; a key may have the prefix ``hive3.``."""


_HiveProperties = TypedDict("_HiveProperties", {
    "cache_mib": Number, "hive.cache_mib": Number, "skip_unreadable": Flag,
    "hive.skip_unreadable": Flag, "confine_locations": Flag, "hive.confine_locations": Flag,
    "allow_locations": Texts, "hive.allow_locations": Texts, "tls_verify": Flag,
    "hive.tls_verify": Flag, "tls.verify": Flag, "hive.tls.verify": Flag,
    "tls_verify_hostname": Flag, "hive.tls_verify_hostname": Flag, "tls.assert_hostname": Flag,
    "hive.tls.assert_hostname": Flag, "ca_bundle": Text, "hive.ca_bundle": Text,
    "tls.ssl_ca_cert": Text, "hive.tls.ssl_ca_cert": Text, "client_cert": Text,
    "hive.client_cert": Text, "tls.cert_file": Text, "hive.tls.cert_file": Text, "client_key": Text,
    "hive.client_key": Text, "tls.key_file": Text, "hive.tls.key_file": Text, "root": Text,
    "hive.root": Text, "uri": Texts, "hive.uri": Texts, "hadoop.hive.metastore.uris": Texts,
    "hive.hadoop.hive.metastore.uris": Texts, "client.pool-size": Number,
    "hive.client.pool-size": Number, "connect_timeout": Number, "hive.connect_timeout": Number,
    "connect_timeout_millis": Number, "hive.connect_timeout_millis": Number, "read_timeout": Number,
    "hive.read_timeout": Number, "read_timeout_millis": Number, "hive.read_timeout_millis": Number,
    "ugi": Text, "hive.ugi": Text, "tls": Flag, "hive.tls": Flag, "ssl": Flag, "hive.ssl": Flag,
    "hive.metastore.use.SSL": Flag, "hive.hive.metastore.use.SSL": Flag, "metastore.use.SSL": Flag,
    "hadoop.hive.metastore.use.SSL": Flag, "hive.hadoop.hive.metastore.use.SSL": Flag,
    "kerberos": Flag, "hive.kerberos": Flag, "hive.metastore.sasl.enabled": Flag,
    "hive.hive.metastore.sasl.enabled": Flag, "metastore.sasl.enabled": Flag,
    "hadoop.hive.metastore.sasl.enabled": Flag, "hive.hadoop.hive.metastore.sasl.enabled": Flag,
    "hive.kerberos-authentication": Flag, "hive.hive.kerberos-authentication": Flag,
    "kerberos-authentication": Flag, "kerberos_principal": Text, "hive.kerberos_principal": Text,
    "hive.metastore.kerberos.principal": Text, "hive.hive.metastore.kerberos.principal": Text,
    "metastore.kerberos.principal": Text, "hadoop.hive.metastore.kerberos.principal": Text,
    "hive.hadoop.hive.metastore.kerberos.principal": Text, "hive.kerberos-service-name": Text,
    "hive.hive.kerberos-service-name": Text, "kerberos-service-name": Text,
    "kerberos_client_principal": Text, "hive.kerberos_client_principal": Text,
    "hive.metastore.client.kerberos.principal": Text,
    "hive.hive.metastore.client.kerberos.principal": Text,
    "metastore.client.kerberos.principal": Text,
    "hadoop.hive.metastore.client.kerberos.principal": Text,
    "hive.hadoop.hive.metastore.client.kerberos.principal": Text, "kerberos_keytab": Text,
    "hive.kerberos_keytab": Text, "kerberos_cache": Text, "hive.kerberos_cache": Text,
    "kerberos_protection": Text, "hive.kerberos_protection": Text, "hadoop.rpc.protection": Text,
    "hive.hadoop.rpc.protection": Text, "hadoop.hadoop.rpc.protection": Text,
    "hive.hadoop.hadoop.rpc.protection": Text, "user": Text, "hive.user": Text,
    "hive.metastore.client.plain.username": Text, "hive.hive.metastore.client.plain.username": Text,
    "metastore.client.plain.username": Text, "hadoop.hive.metastore.client.plain.username": Text,
    "hive.hadoop.hive.metastore.client.plain.username": Text, "password": Text,
    "hive.password": Text, "locks": Flag, "hive.locks": Flag,
}, total=False)


class HiveProperties(_HiveProperties, _Storage, total=False):
    """The properties of ``hive``; a key may have the prefix ``hive.``."""


_IcebergProperties = TypedDict("_IcebergProperties", {
    "cache_mib": Number, "iceberg.cache_mib": Number, "skip_unreadable": Flag,
    "iceberg.skip_unreadable": Flag, "confine_locations": Flag, "iceberg.confine_locations": Flag,
    "allow_locations": Texts, "iceberg.allow_locations": Texts, "tls_verify": Flag,
    "iceberg.tls_verify": Flag, "tls.verify": Flag, "iceberg.tls.verify": Flag,
    "tls_verify_hostname": Flag, "iceberg.tls_verify_hostname": Flag, "tls.assert_hostname": Flag,
    "iceberg.tls.assert_hostname": Flag, "ca_bundle": Text, "iceberg.ca_bundle": Text,
    "tls.ssl_ca_cert": Text, "iceberg.tls.ssl_ca_cert": Text, "client_cert": Text,
    "iceberg.client_cert": Text, "tls.cert_file": Text, "iceberg.tls.cert_file": Text,
    "client_key": Text, "iceberg.client_key": Text, "tls.key_file": Text,
    "iceberg.tls.key_file": Text, "auth_token": Text, "iceberg.auth_token": Text, "token": Text,
    "iceberg.token": Text, "credential": Text, "iceberg.credential": Text, "client_id": Text,
    "iceberg.client_id": Text, "client_secret": Text, "iceberg.client_secret": Text,
    "oauth2-client-auth": Text, "iceberg.oauth2-client-auth": Text, "oauth2_client_auth": Text,
    "iceberg.oauth2_client_auth": Text, "audience": Text, "iceberg.audience": Text,
    "resource": Text, "iceberg.resource": Text, "sigv4": Flag, "iceberg.sigv4": Flag,
    "rest.sigv4-enabled": Flag, "iceberg.rest.sigv4-enabled": Flag, "sigv4-enabled": Flag,
    "iceberg.sigv4-enabled": Flag, "sigv4_region": Text, "iceberg.sigv4_region": Text,
    "rest.signing-region": Text, "iceberg.rest.signing-region": Text, "signing-region": Text,
    "iceberg.signing-region": Text, "sigv4_service": Text, "iceberg.sigv4_service": Text,
    "rest.signing-name": Text, "iceberg.rest.signing-name": Text, "signing-name": Text,
    "iceberg.signing-name": Text, "max_retries": Number, "iceberg.max_retries": Number,
    "max_retry_wait": Number, "iceberg.max_retry_wait": Number, "max_connections": Number,
    "iceberg.max_connections": Number, "proxy": Text, "iceberg.proxy": Text, "endpoint": Text,
    "iceberg.endpoint": Text, "scope": Text, "iceberg.scope": Text, "oauth2-server-uri": Text,
    "iceberg.oauth2-server-uri": Text, "oauth2_server_uri": Text, "iceberg.oauth2_server_uri": Text,
    "warehouses": Texts, "iceberg.warehouses": Texts, "warehouse": Texts,
    "iceberg.warehouse": Texts, "prefix": Text, "iceberg.prefix": Text, "max_concurrency": Number,
    "iceberg.max_concurrency": Number, "connect_timeout": Number, "iceberg.connect_timeout": Number,
    "connect_timeout_millis": Number, "iceberg.connect_timeout_millis": Number,
    "read_timeout": Number, "iceberg.read_timeout": Number, "read_timeout_millis": Number,
    "iceberg.read_timeout_millis": Number, "root": Text, "iceberg.root": Text,
}, total=False)


class IcebergProperties(_IcebergProperties, _Storage, total=False):
    """The properties of ``iceberg``; a key may have the prefix ``iceberg.``."""


_MemoryProperties = TypedDict("_MemoryProperties", {
    "root": Text, "memory.root": Text, "cache_mib": Number, "memory.cache_mib": Number,
    "skip_unreadable": Flag, "memory.skip_unreadable": Flag, "confine_locations": Flag,
    "memory.confine_locations": Flag, "allow_locations": Texts, "memory.allow_locations": Texts,
    "name": Text, "memory.name": Text, "managed": Flag, "memory.managed": Flag,
}, total=False)


class MemoryProperties(_MemoryProperties, _Storage, total=False):
    """The properties of ``memory``; a key may have the prefix ``memory.``."""


_PolarisProperties = TypedDict("_PolarisProperties", {
    "cache_mib": Number, "polaris.cache_mib": Number, "skip_unreadable": Flag,
    "polaris.skip_unreadable": Flag, "confine_locations": Flag, "polaris.confine_locations": Flag,
    "allow_locations": Texts, "polaris.allow_locations": Texts, "tls_verify": Flag,
    "polaris.tls_verify": Flag, "tls.verify": Flag, "polaris.tls.verify": Flag,
    "tls_verify_hostname": Flag, "polaris.tls_verify_hostname": Flag, "tls.assert_hostname": Flag,
    "polaris.tls.assert_hostname": Flag, "ca_bundle": Text, "polaris.ca_bundle": Text,
    "tls.ssl_ca_cert": Text, "polaris.tls.ssl_ca_cert": Text, "client_cert": Text,
    "polaris.client_cert": Text, "tls.cert_file": Text, "polaris.tls.cert_file": Text,
    "client_key": Text, "polaris.client_key": Text, "tls.key_file": Text,
    "polaris.tls.key_file": Text, "auth_token": Text, "polaris.auth_token": Text, "token": Text,
    "polaris.token": Text, "credential": Text, "polaris.credential": Text, "client_id": Text,
    "polaris.client_id": Text, "client_secret": Text, "polaris.client_secret": Text,
    "oauth2-client-auth": Text, "polaris.oauth2-client-auth": Text, "oauth2_client_auth": Text,
    "polaris.oauth2_client_auth": Text, "audience": Text, "polaris.audience": Text,
    "resource": Text, "polaris.resource": Text, "sigv4": Flag, "polaris.sigv4": Flag,
    "rest.sigv4-enabled": Flag, "polaris.rest.sigv4-enabled": Flag, "sigv4-enabled": Flag,
    "polaris.sigv4-enabled": Flag, "sigv4_region": Text, "polaris.sigv4_region": Text,
    "rest.signing-region": Text, "polaris.rest.signing-region": Text, "signing-region": Text,
    "polaris.signing-region": Text, "sigv4_service": Text, "polaris.sigv4_service": Text,
    "rest.signing-name": Text, "polaris.rest.signing-name": Text, "signing-name": Text,
    "polaris.signing-name": Text, "max_retries": Number, "polaris.max_retries": Number,
    "max_retry_wait": Number, "polaris.max_retry_wait": Number, "max_connections": Number,
    "polaris.max_connections": Number, "proxy": Text, "polaris.proxy": Text,
    "oauth2-server-uri": Text, "polaris.oauth2-server-uri": Text, "oauth2_server_uri": Text,
    "polaris.oauth2_server_uri": Text, "warehouses": Texts, "polaris.warehouses": Texts,
    "warehouse": Texts, "polaris.warehouse": Texts, "prefix": Text, "polaris.prefix": Text,
    "max_concurrency": Number, "polaris.max_concurrency": Number, "connect_timeout": Number,
    "polaris.connect_timeout": Number, "connect_timeout_millis": Number,
    "polaris.connect_timeout_millis": Number, "read_timeout": Number,
    "polaris.read_timeout": Number, "read_timeout_millis": Number,
    "polaris.read_timeout_millis": Number, "root": Text, "polaris.root": Text, "endpoint": Text,
    "polaris.endpoint": Text, "scope": Text, "polaris.scope": Text, "vended_credentials": Flag,
    "polaris.vended_credentials": Flag,
}, total=False)


class PolarisProperties(_PolarisProperties, _Storage, total=False):
    """The properties of ``polaris``; a key may have the prefix ``polaris.``."""


_RestProperties = TypedDict("_RestProperties", {
    "tls_verify": Flag, "rest.tls_verify": Flag, "tls.verify": Flag, "rest.tls.verify": Flag,
    "tls_verify_hostname": Flag, "rest.tls_verify_hostname": Flag, "tls.assert_hostname": Flag,
    "rest.tls.assert_hostname": Flag, "ca_bundle": Text, "rest.ca_bundle": Text,
    "tls.ssl_ca_cert": Text, "rest.tls.ssl_ca_cert": Text, "client_cert": Text,
    "rest.client_cert": Text, "tls.cert_file": Text, "rest.tls.cert_file": Text, "client_key": Text,
    "rest.client_key": Text, "tls.key_file": Text, "rest.tls.key_file": Text, "auth_token": Text,
    "rest.auth_token": Text, "token": Text, "rest.token": Text, "credential": Text,
    "rest.credential": Text, "client_id": Text, "rest.client_id": Text, "client_secret": Text,
    "rest.client_secret": Text, "scope": Text, "rest.scope": Text, "oauth2-server-uri": Text,
    "rest.oauth2-server-uri": Text, "oauth2_server_uri": Text, "rest.oauth2_server_uri": Text,
    "oauth2-client-auth": Text, "rest.oauth2-client-auth": Text, "oauth2_client_auth": Text,
    "rest.oauth2_client_auth": Text, "audience": Text, "rest.audience": Text, "resource": Text,
    "rest.resource": Text, "sigv4": Flag, "rest.sigv4": Flag, "rest.sigv4-enabled": Flag,
    "rest.rest.sigv4-enabled": Flag, "sigv4-enabled": Flag, "sigv4_region": Text,
    "rest.sigv4_region": Text, "rest.signing-region": Text, "rest.rest.signing-region": Text,
    "signing-region": Text, "sigv4_service": Text, "rest.sigv4_service": Text,
    "rest.signing-name": Text, "rest.rest.signing-name": Text, "signing-name": Text,
    "connect_timeout": Number, "rest.connect_timeout": Number, "connect_timeout_millis": Number,
    "rest.connect_timeout_millis": Number, "read_timeout": Number, "rest.read_timeout": Number,
    "read_timeout_millis": Number, "rest.read_timeout_millis": Number, "max_retries": Number,
    "rest.max_retries": Number, "max_retry_wait": Number, "rest.max_retry_wait": Number,
    "max_connections": Number, "rest.max_connections": Number, "proxy": Text, "rest.proxy": Text,
    "uri": Text, "rest.uri": Text, "delimiter": Text, "rest.delimiter": Text, "api_key": Text,
    "rest.api_key": Text,
}, total=False)


class RestProperties(_RestProperties, _Storage, total=False):
    """The properties of ``rest``; a key may have the prefix ``rest.``."""


_SqlProperties = TypedDict("_SqlProperties", {
    "root": Text, "sql.root": Text, "cache_mib": Number, "sql.cache_mib": Number,
    "skip_unreadable": Flag, "sql.skip_unreadable": Flag, "confine_locations": Flag,
    "sql.confine_locations": Flag, "allow_locations": Texts, "sql.allow_locations": Texts,
    "uri": Text, "sql.uri": Text, "path": Text, "sql.path": Text, "password": Text,
    "sql.password": Text, "managed": Flag, "sql.managed": Flag, "connect_timeout": Number,
    "sql.connect_timeout": Number, "connect_timeout_millis": Number,
    "sql.connect_timeout_millis": Number, "lock_timeout": Number, "sql.lock_timeout": Number,
    "lock_timeout_millis": Number, "sql.lock_timeout_millis": Number, "pool_size": Number,
    "sql.pool_size": Number, "transaction_days": Number, "sql.transaction_days": Number,
}, total=False)


class SqlProperties(_SqlProperties, _Storage, total=False):
    """The properties of ``sql``; a key may have the prefix ``sql.``."""


_UnityProperties = TypedDict("_UnityProperties", {
    "cache_mib": Number, "unity.cache_mib": Number, "skip_unreadable": Flag,
    "unity.skip_unreadable": Flag, "confine_locations": Flag, "unity.confine_locations": Flag,
    "allow_locations": Texts, "unity.allow_locations": Texts, "tls_verify": Flag,
    "unity.tls_verify": Flag, "tls.verify": Flag, "unity.tls.verify": Flag,
    "tls_verify_hostname": Flag, "unity.tls_verify_hostname": Flag, "tls.assert_hostname": Flag,
    "unity.tls.assert_hostname": Flag, "ca_bundle": Text, "unity.ca_bundle": Text,
    "tls.ssl_ca_cert": Text, "unity.tls.ssl_ca_cert": Text, "client_cert": Text,
    "unity.client_cert": Text, "tls.cert_file": Text, "unity.tls.cert_file": Text,
    "client_key": Text, "unity.client_key": Text, "tls.key_file": Text, "unity.tls.key_file": Text,
    "auth_token": Text, "unity.auth_token": Text, "token": Text, "unity.token": Text,
    "credential": Text, "unity.credential": Text, "oauth2-client-auth": Text,
    "unity.oauth2-client-auth": Text, "oauth2_client_auth": Text, "unity.oauth2_client_auth": Text,
    "audience": Text, "unity.audience": Text, "resource": Text, "unity.resource": Text,
    "sigv4": Flag, "unity.sigv4": Flag, "rest.sigv4-enabled": Flag,
    "unity.rest.sigv4-enabled": Flag, "sigv4-enabled": Flag, "unity.sigv4-enabled": Flag,
    "sigv4_region": Text, "unity.sigv4_region": Text, "rest.signing-region": Text,
    "unity.rest.signing-region": Text, "signing-region": Text, "unity.signing-region": Text,
    "sigv4_service": Text, "unity.sigv4_service": Text, "rest.signing-name": Text,
    "unity.rest.signing-name": Text, "signing-name": Text, "unity.signing-name": Text,
    "connect_timeout": Number, "unity.connect_timeout": Number, "connect_timeout_millis": Number,
    "unity.connect_timeout_millis": Number, "read_timeout": Number, "unity.read_timeout": Number,
    "read_timeout_millis": Number, "unity.read_timeout_millis": Number, "max_retries": Number,
    "unity.max_retries": Number, "max_retry_wait": Number, "unity.max_retry_wait": Number,
    "max_connections": Number, "unity.max_connections": Number, "proxy": Text, "unity.proxy": Text,
    "endpoint": Text, "unity.endpoint": Text, "client_id": Text, "unity.client_id": Text,
    "auth.oauth.clientId": Text, "unity.auth.oauth.clientId": Text, "client_secret": Text,
    "unity.client_secret": Text, "auth.oauth.clientSecret": Text,
    "unity.auth.oauth.clientSecret": Text, "scope": Text, "unity.scope": Text,
    "auth.oauth.scope": Text, "unity.auth.oauth.scope": Text, "oauth2-server-uri": Text,
    "unity.oauth2-server-uri": Text, "oauth2_server_uri": Text, "unity.oauth2_server_uri": Text,
    "auth.oauth.uri": Text, "unity.auth.oauth.uri": Text, "catalog": Text, "unity.catalog": Text,
    "api_path": Text, "unity.api_path": Text, "root": Text, "unity.root": Text,
}, total=False)


class UnityProperties(_UnityProperties, _Storage, total=False):
    """The properties of ``unity``; a key may have the prefix ``unity.``."""
